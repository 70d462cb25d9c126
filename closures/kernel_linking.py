"""How functions that kernels alone call are compiled: together with the kernel that calls them.

numba would make machine code of each on its own, and then once more within every function above it, so that compiling a controlled
simulation took twice as long.
"""

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


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
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(LoweringAlone if step is NativeLowering else step, text) for step, text in passes.passes]
        passes.finalize()
        return [passes]
