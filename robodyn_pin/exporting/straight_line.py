"""A CasADi function of scalars as straight lines of C99: no loops, no branches, no memory but its own variables."""

import casadi

from robodyn_pin.errors import RobodynError

INFIX = {casadi.OP_ADD: "+", casadi.OP_SUB: "-", casadi.OP_MUL: "*", casadi.OP_DIV: "/"}
CALLS = {
    casadi.OP_SIN: "sin", casadi.OP_COS: "cos", casadi.OP_TANH: "tanh", casadi.OP_EXP: "exp", casadi.OP_SQRT: "sqrt",
    casadi.OP_FABS: "fabs", casadi.OP_FMIN: "fmin", casadi.OP_FMAX: "fmax", casadi.OP_ATAN2: "atan2",
    casadi.OP_COPYSIGN: "copysign", casadi.OP_POW: "pow", casadi.OP_CONSTPOW: "pow",
}  # fmt: skip
OTHERS = {
    casadi.OP_NEG: "-{0}", casadi.OP_SQ: "{0} * {0}", casadi.OP_TWICE: "{0} + {0}", casadi.OP_INV: "ONE / {0}",
    casadi.OP_ASSIGN: "{0}",
}  # fmt: skip


def lines_of(function: casadi.Function, inputs: list[str], outputs: list[str]) -> list[str]:
    """Statements that compute the first outputs, arrays of these names; each value has a name of its own.

    Functions of math.h stand as FN(sin), constants as C(0.5), so that the source decides between double and float. Where the function has
    two outputs more, all that leads from the first of them to the second is computed in double, as DOUBLE(sin) and 0.5.
    """
    held: dict[int, str] = {}  # place of CasADi's work vector -> the value that is there now
    needs, ends = _uses(function)
    used = _behind(needs, [k for end in ends[: len(outputs)] for k in end], set())
    precise = _behind(needs, ends[-1], set(ends[-2])) if len(ends) > len(outputs) else set()
    lines = []
    for k in range(function.n_instructions()):
        op, to, given = function.instruction_id(k), function.instruction_output(k), function.instruction_input(k)
        if op == casadi.OP_INPUT:
            held[to[0]] = f"{inputs[given[0]]}[{given[1]}]"
        elif op == casadi.OP_OUTPUT:
            if to[0] < len(outputs):
                lines.append(f"{outputs[to[0]]}[{to[1]}] = {held[given[0]]};")
        elif op == casadi.OP_CONST:
            held[to[0]] = f"C({function.instruction_constant(k)!r})"
        elif k in used:
            kind, value = "real", _value(op, [held[i] for i in given])
            if k in precise:
                kind, value = "double", value.replace("FN(", "DOUBLE(").replace("C(", "(").replace("ONE", "1.0")
            lines.append(f"const {kind} t{k} = {value};")
            held[to[0]] = f"t{k}"
    return lines


def _uses(function: casadi.Function) -> tuple[list[list[int]], list[list[int]]]:
    """The instructions whose values each instruction takes, and those whose values each output is."""
    made: dict[int, int] = {}  # place of CasADi's work vector -> instruction that wrote what is there now
    needs: list[list[int]] = []
    ends: list[list[int]] = [[] for _ in range(function.n_out())]
    for k in range(function.n_instructions()):
        op, to = function.instruction_id(k), function.instruction_output(k)
        leaf = op in (casadi.OP_INPUT, casadi.OP_CONST)
        needs.append([] if leaf else [made[i] for i in function.instruction_input(k)])
        if op == casadi.OP_OUTPUT:
            ends[to[0]] += needs[k]
        else:
            made[to[0]] = k
    return needs, ends


def _behind(needs: list[list[int]], ends: list[int], begin: set[int]) -> set[int]:
    """Instructions that some values come from, as far back as others that are given."""
    found, todo = set(), list(ends)
    while todo:
        if (k := todo.pop()) not in found and k not in begin:
            found.add(k)
            todo += needs[k]
    return found


def _value(op: int, of: list[str]) -> str:
    if op in INFIX:
        return f"{of[0]} {INFIX[op]} {of[1]}"
    if op in CALLS:
        return f"FN({CALLS[op]})({', '.join(of)})"
    if op in OTHERS:
        return OTHERS[op].format(*of)
    raise RobodynError(f"CasADi's operation {op} has no form in C yet")
