"""How kernels are compiled, together with the functions that they alone call.

numba would make machine code of each of these on its own, and then once more within every function above it, so that compiling a controlled
simulation took twice as long.
"""

import gc

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class Uncollected(Compiler):
    """For `njit(pipeline_class=...)`: a kernel is compiled without a search for garbage. What numba makes meanwhile is in use until its
    end, and Python would look through it over and over, for a twelfth of the time."""

    def compile_extra(self, function):
        collecting = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(function)
        finally:
            if collecting:
                gc.enable()


class OptimizedOnce(JITCodeLibrary):
    """Code that LLVM goes through once, and does not look in for operations that could be done side by side."""

    def _optimize_final_module(self):
        passes, builder = self._codegen._module_pass_manager(
            loop_vectorize=self._codegen._loopvect, slp_vectorize=False, opt=self._codegen._opt_level, cost="cheap"
        )
        passes.run(self._final_module, builder)


@register_pass(mutates_CFG=True, analysis_only=False)
class LoweringOnce(NativeLowering):
    _name = "lowering_once"

    def run_pass(self, state):
        state.library = OptimizedOnce(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


class Sequential(Uncollected):
    """For `njit(pipeline_class=...)`: a kernel whose time goes into steps that wait for each other. It is compiled in three quarters of the
    time, and as fast; rows of many bodies would take a fifth longer."""

    def define_pipelines(self):
        return [_with(LoweringOnce, self.state)]


class LinkedLibrary(JITCodeLibrary):
    """Code that is linked, and left to its caller to be optimised and translated."""

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class LoweringAlone(NativeLowering):
    """To code without an entry from Python: numba knows the function by an empty one."""

    _name = "lowering_alone"

    def run_pass(self, state):
        state.flags.no_compile = True
        state.library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        super().run_pass(state)
        function, library, environment = state.cr.fndesc, state.library, state.cr.env
        entry = _dynfunc.make_function(function.lookup_module(), function.qualname, "", 0, environment, (library,))
        state.targetctx.insert_user_function(entry, function, [library])
        state.cr = state.cr._replace(cfunc=entry)
        return True


class WithItsCaller(CompilerBase):
    """For `njit(pipeline_class=...)`."""

    def define_pipelines(self):
        return [_with(LoweringAlone, self.state)]


def _with(lowering, state):
    """numba's own passes, with this one in place of that which makes LLVM's code."""
    passes = DefaultPassBuilder.define_nopython_pipeline(state)
    passes.passes = [(lowering if step is NativeLowering else step, text) for step, text in passes.passes]
    passes.finalize()
    return passes
