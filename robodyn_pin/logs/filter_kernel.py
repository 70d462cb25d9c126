"""Second-order sections compiled: all columns of a sample at once, bit for bit what SciPy finds column by column."""

from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def run_sections(sections, x, state, way):
    """Samples x (N, k), filtered in place, from a state (n, 2, k); way -1: from the last sample to the first."""
    last, columns = len(x) - 1, x.shape[1]
    for i in range(len(x)):
        row = x[i if way > 0 else last - i]
        for s in range(len(sections)):
            b0, b1, b2, a1, a2 = sections[s, 0], sections[s, 1], sections[s, 2], sections[s, 4], sections[s, 5]
            near, far = state[s, 0], state[s, 1]
            for c in range(columns):
                into = row[c]
                out = b0 * into + near[c]
                near[c] = b1 * into - a1 * out + far[c]
                far[c] = b2 * into - a2 * out
                row[c] = out
