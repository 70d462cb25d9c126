"""The C text of one step in time inside an FMU, with gaps: what kernel_step.py does, on arrays of fixed size.

Runge-Kutta of order 4 where no friction is steep within a step, else the step of sticking.py with the bounded least squares of bounded.py.
"""

STEP = """
/* Joints at c, and the accelerations there; the flag of the exported function. */
static int fall(Moving *m, const double *c, const double *cd, double *cdd) {{
  double residual;
  return {name}_forward_dynamics(&m->pose, c, cd, m->value + TAU, cdd, &residual);
}}

/* One step of order 4 from c, c', under held torques. */
static int rolled(Moving *m, double h) {{
  double *c = m->value + C, *cd = m->value + CD, a[4][D], v[4][D], x[D];
  int k, i, flag;
  for (k = 0; k < 4; ++k) {{
    const double ahead = k == 0 ? 0 : k == 3 ? h : h / 2;
    for (i = 0; i < D; ++i) {{
      v[k][i] = k ? cd[i] + ahead * a[k - 1][i] : cd[i];
      x[i] = k ? c[i] + ahead * v[k - 1][i] : c[i];
    }}
    if ((flag = fall(m, x, v[k], a[k]))) return flag;
  }}
  for (i = 0; i < D; ++i) {{
    c[i] += h / 6 * (v[0][i] + 2 * v[1][i] + 2 * v[2][i] + v[3][i]);
    cd[i] += h / 6 * (a[0][i] + 2 * a[1][i] + 2 * a[2][i] + a[3][i]);
  }}
  return 0;
}}

/* Joint positions at c as they are told. */
static int told(Moving *m) {{
  double cdd[D];
  const int flag = fall(m, m->value + C, m->value + CD, cdd);
  if (!flag) memcpy(m->value + Q, m->pose.q, sizeof m->pose.q);
  return flag;
}}

enum {{ RANK = RUB < WIDE ? RUB : WIDE }};

/* What is known of one pose; in the order of {name}_step_terms. */
typedef struct {{
  double M[D][D];  /* masses, rotors included */
  double stiff[D][D]; /* of springs */
  double asked[D]; /* by the motion, without friction along axes */
  double B[N][D]; /* rates of the motors */
  double J[RUB + 1][D]; /* rates of the axes that rub, then of those with stops; one row more than are there */
  double low[AXES + 1], high[AXES + 1], damping[AXES + 1];
}} Terms;

static const double RADIUS[STOPS + 1] = {{{radius}}};
static const double STIFFNESS[STOPS + 1] = {{{stiffness}}};
static const double SLIDES[STOPS + 1][NQ] = {{{slides}}};

static double least(double a, double b) {{ return a < b ? a : b; }}
static double most(double a, double b) {{ return a > b ? a : b; }}
static double inner(const double *a, const double *b, int n) {{
  double sum = 0;
  int k;
  for (k = 0; k < n; ++k) sum += a[k] * b[k];
  return sum;
}}

static int terms_at(Moving *m, const double *c, const double *cd, Terms *at) {{
  double given[2 * D * D + D + N * D + RUB * D + 3 * AXES], residual, *from = given;
  const int flag = {name}_step_terms(&m->pose, c, cd, given, &residual);
#define TAKE(what, n) memcpy(what, from, (n) * sizeof *given), from += (n)
  memset(at, 0, sizeof *at);
  TAKE(at->M, D * D), TAKE(at->stiff, D * D), TAKE(at->asked, D), TAKE(at->B, N * D), TAKE(at->J, RUB * D);
  TAKE(at->low, AXES), TAKE(at->high, AXES), TAKE(at->damping, AXES);
#undef TAKE
  return flag;
}}

/* Minimise |y - p K| within low <= p <= high; y becomes what is left of it (Stark & Parker 1995). */
static void bounded(double K[RUB + 1][WIDE], double *y, const double *low, const double *high, double *p, int *loose) {{
  double q[RANK + 1][WIDE], columns[RANK + 1][RUB + 1], size[RUB + 1], given[WIDE], target[RUB + 1] = {{0}}, along[RANK + 1] = {{0}};
  int order[RUB + 1], count, i, j, k, r, twice, turn;
  const double scale = sqrt(inner(y, y, WIDE));
  memcpy(given, y, sizeof given);
  for (i = 0; i < RUB; ++i) size[i] = sqrt(inner(K[i], K[i], WIDE));
  for (turn = 0; turn < {changes} * (RUB + 1); ++turn) {{
    double share = 1, way, best = 0;
    int first = -1, found = -1;
    count = 0;
    memcpy(y, given, sizeof given);
    for (i = 0; i < RUB; ++i) {{
      if (loose[i] && count < WIDE) {{
        double x[WIDE], left;
        memcpy(x, K[i], sizeof x);
        memset(columns[count], 0, sizeof columns[count]);
        for (twice = 0; twice < 2; ++twice) {{ /* once leaves round-off of nearly dependent ones */
          for (k = 0; k < count; ++k) along[k] = inner(q[k], x, WIDE);
          for (k = 0; k < count; ++k) {{
            for (j = 0; j < WIDE; ++j) x[j] -= along[k] * q[k][j];
            columns[count][k] += along[k];
          }}
        }}
        left = sqrt(inner(x, x, WIDE));
        if (left > {twice!r} * size[i]) {{
          for (j = 0; j < WIDE; ++j) q[count][j] = x[j] / left;
          columns[count][count] = left;
          order[count++] = i;
          continue;
        }}
      }}
      loose[i] = 0;
      for (j = 0; j < WIDE; ++j) y[j] -= p[i] * K[i][j];
    }}
    for (k = 0; k < count; ++k) along[k] = inner(q[k], y, WIDE);
    for (k = count - 1; k >= 0; --k) {{
      double rest = along[k];
      i = order[k];
      for (r = k + 1; r < count; ++r) rest -= columns[r][k] * target[r];
      target[k] = rest / columns[k][k];
      if (target[k] > high[i] || target[k] < low[i]) {{
        const double end = target[k] > high[i] ? high[i] : low[i];
        double part;
        way = target[k] - p[i];
        part = way != 0 ? (end - p[i]) / way : 0;
        if (first < 0 || part < share) share = part, first = k;
      }}
    }}
    for (k = 0; k < count; ++k) {{
      i = order[k];
      p[i] = least(most(p[i] + share * (target[k] - p[i]), low[i]), high[i]);
    }}
    if (first >= 0) {{
      i = order[first];
      p[i] = target[first] > high[i] ? high[i] : low[i];
      loose[i] = 0;
      continue;
    }}
    for (twice = 0; twice < 2; ++twice) {{
      for (k = 0; k < count; ++k) along[k] = inner(q[k], y, WIDE);
      for (k = 0; k < count; ++k)
        for (j = 0; j < WIDE; ++j) y[j] -= along[k] * q[k][j];
    }}
    for (i = 0; i < RUB; ++i) {{
      double pull;
      if (loose[i] || size[i] == 0 || high[i] <= low[i]) continue;
      pull = inner(K[i], y, WIDE) / size[i];
      if (fabs(pull) > {nothing!r} * scale && (pull > 0 ? p[i] < high[i] : p[i] > low[i]) && fabs(pull) > best)
        found = i, best = fabs(pull);
    }}
    if (found < 0) break;
    loose[found] = 1;
  }}
}}

/* x becomes L^-1 x, and L^-T x. */
static void forward(double L[D][D], double *x) {{
  int k;
  for (k = 0; k < D; ++k) x[k] = (x[k] - inner(L[k], x, k)) / L[k][k];
}}
static void backward(double L[D][D], double *x) {{
  int k, j;
  for (k = D - 1; k >= 0; --k) {{
    for (j = k + 1; j < D; ++j) x[k] -= L[j][k] * x[j];
    x[k] /= L[k][k];
  }}
}}

static int factored(double L[D][D]) {{
  int i, k;
  for (i = 0; i < D; ++i)
    for (k = 0; k <= i; ++k) {{
      const double rest = L[i][k] - inner(L[i], L[k], k);
      if (i == k && !(rest > 0)) return 0;
      L[i][k] = i == k ? sqrt(rest) : rest / L[k][k];
    }}
  return 1;
}}

/* Rates after h [s] under held torques, from cd, at what is known of the middle of the step. */
static int struck(Moving *m, const Terms *at, const double *cd, double *after, double h) {{
  double heavy[D][D], L[D][D], K[RUB + 1][WIDE], y[WIDE], p[RUB + 1], low[RUB + 1], high[RUB + 1];
  int loose[RUB + 1], i, k, r, held = 0;
  for (k = 0; k < D; ++k)
    for (r = 0; r < D; ++r) {{
      double rubbing = 0;
      heavy[k][r] = at->M[k][r] + h * h / 4 * at->stiff[k][r];
      for (i = 0; i < AXES; ++i) rubbing += h / 2 * at->damping[i] * at->J[i][k] * at->J[i][r];
      L[k][r] = heavy[k][r] + rubbing;
      heavy[k][r] -= rubbing;
    }}
  memset(K, 0, sizeof K), memset(y, 0, sizeof y);
  for (k = 0; k < D; ++k) {{
    y[k] = inner(heavy[k], cd, D) - h * at->asked[k];
    for (i = 0; i < N; ++i) y[k] += h * at->B[i][k] * m->value[TAU + i];
  }}
  if (!factored(L)) return 2;
  forward(L, y);
  for (i = 0; i < AXES; ++i) {{
    const double rate = inner(at->J[i], after, D);
    const int slow = fabs(rate) <= {slowest!r};
    low[i] = h * at->low[i], high[i] = h * at->high[i];
    loose[i] = slow && high[i] > low[i];
    p[i] = slow ? 0 : rate > 0 ? high[i] : low[i];
  }}
  for (i = AXES; i < RUB; ++i) {{
    const int s = i - AXES;
    const double stiff = h * h * STIFFNESS[s] / 4, ease = stiff > 0 ? sqrt(1 / stiff) : 0;
    const double begin = h * STIFFNESS[s] * m->stretch[s] + stiff * inner(at->J[i], cd, D);
    high[i] = h * STIFFNESS[s] * (m->stretch[s] + RADIUS[s]) / 2;
    low[i] = h * STIFFNESS[s] * (m->stretch[s] - RADIUS[s]) / 2;
    K[i][D + s] = ease, y[D + s] = ease * begin;
    p[i] = least(most(begin, low[i]), high[i]), loose[i] = stiff > 0;
  }}
  for (i = 0; i < RUB; ++i) {{
    memcpy(K[i], at->J[i], sizeof at->J[i]);
    forward(L, K[i]);
  }}
  bounded(K, y, low, high, p, loose);
  for (i = 0; i < AXES; ++i) held += loose[i];
  if (held >= D) memset(y, 0, D * sizeof *y); /* nothing moves, not even by round-off */
  else backward(L, y);
  memcpy(after, y, D * sizeof *after);
  return 0;
}}

/* One step in which friction sticks: implicit in the rates after it, which also make the rates in its middle. */
static int stuck(Moving *m, double h) {{
  double *c = m->value + C, *cd = m->value + CD, mid[D], mean[D], after[D];
  const {name}_state before = m->pose;
  Terms at;
  int k, j, turn, flag;
  for (k = 0; k < D; ++k) mid[k] = c[k] + h / 2 * cd[k], mean[k] = after[k] = cd[k];
  for (turn = 0; turn < 2; ++turn) {{
    if ((flag = terms_at(m, mid, mean, &at)) || (flag = struck(m, &at, cd, after, h))) return flag;
    for (k = 0; k < D; ++k) mean[k] = (cd[k] + after[k]) / 2;
  }}
  for (k = 0; k < D; ++k) {{
    if (!(after[k] - after[k] == 0)) return 2;
    c[k] += h * mean[k], cd[k] = after[k];
  }}
  if (STOPS && (flag = fall(m, c, cd, mean))) return flag;
  for (k = 0; k < STOPS; ++k) {{
    for (j = 0; j < NQ; ++j) m->stretch[k] += SLIDES[k][j] * (m->pose.q[j] - before.q[j]);
    m->stretch[k] = least(most(m->stretch[k], -RADIUS[k]), RADIUS[k]);
  }}
  return 0;
}}

/* h [s] in as many steps as friction and springs ask, by the scheme that they ask. */
static int moved(Moving *m, double h) {{
  const double swings = {swings!r} * h, steep = {steep!r} * h, left = {left!r} * h; /* 1: as much as one step of order 4 takes */
  const int smooth = !{remembers} && steep <= most(1, 2 * swings > {most_steps} ? 1 : swings);
  double parts = ceil(smooth ? swings : most(left, least(ceil(2 * swings), {most_steps})));
  int flag = 0;
  if (!(parts > 1)) parts = 1;
  for (h /= parts; parts > 0 && !flag; --parts) flag = smooth ? rolled(m, h) : stuck(m, h);
  return flag;
}}
"""
