"""An identified robot for controllers: its dynamics, loops closed, as C code.

table of the kernels ─► symbolic twin (CasADi) ─► straight lines of C ─► folder with header, source, test and CMake file
"""
