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
    """Statements that compute the outputs, arrays of these names; each value has a name of its own.

    Functions of math.h stand as FN(sin), constants as C(0.5), so that the source decides between double and float.
    """
    held: dict[int, str] = {}  # place of CasADi's work vector -> the value that is there now
    lines = []
    for k in range(function.n_instructions()):
        op, to, given = function.instruction_id(k), function.instruction_output(k), function.instruction_input(k)
        if op == casadi.OP_INPUT:
            held[to[0]] = f"{inputs[given[0]]}[{given[1]}]"
        elif op == casadi.OP_OUTPUT:
            lines.append(f"{outputs[to[0]]}[{to[1]}] = {held[given[0]]};")
        elif op == casadi.OP_CONST:
            held[to[0]] = f"C({function.instruction_constant(k)!r})"
        else:
            lines.append(f"const real t{k} = {_value(op, [held[i] for i in given])};")
            held[to[0]] = f"t{k}"
    return lines


def _value(op: int, of: list[str]) -> str:
    if op in INFIX:
        return f"{of[0]} {INFIX[op]} {of[1]}"
    if op in CALLS:
        return f"FN({CALLS[op]})({', '.join(of)})"
    if op in OTHERS:
        return OTHERS[op].format(*of)
    raise RobodynError(f"CasADi's operation {op} has no form in C yet")
