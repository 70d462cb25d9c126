"""How functions are compiled."""

from numba import njit

from robodyn_pin.closures.kernel_linking import Sequential, Uncollected, WithItsCaller

# No sample may raise: a division by zero gives inf, and the sample is reported as not solved. "contract": multiply-add.
# "nogil": Ctrl-C is heard meanwhile. Nothing calls these functions through a pointer of C.
OPTIONS = {"error_model": "numpy", "fastmath": {"contract"}, "nogil": True, "no_cfunc_wrapper": True}
compiled = njit(_nrt=True, cache=True, pipeline_class=Uncollected, **OPTIONS)
sequential = njit(_nrt=True, cache=True, pipeline_class=Sequential, **OPTIONS)
# Kernels alone call these: taking tables over from Python takes long to compile.
WITHIN = OPTIONS | {"no_cpython_wrapper": True, "pipeline_class": WithItsCaller}
allocating = njit(_nrt=True, **WITHIN)
# Makes no array and returns none, so that nobody need count who holds those of the tables: a fifth of the time of a sample.
inner = njit(_nrt=False, **WITHIN)
# Called many times a sample: without inlining, the call costs more than the work.
inlined = njit(_nrt=False, forceinline=True, **WITHIN)
