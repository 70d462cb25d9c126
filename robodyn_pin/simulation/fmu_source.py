"""The C text around exported dynamics and their step in time that makes them an FMI 2 co-simulation, with gaps.

The functions and types are those of the FMI 2.0 standard (fmi-standard.org), declared here so that its headers are not needed.
"""

SOURCE = """/* FMI 2.0 for co-simulation around {name}.c: torques in, motion out. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "{name}.h"

#if defined _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT
#endif

enum {{ D = {NAME}_COORDINATES, N = {NAME}_MOTORS, NQ = {NAME}_JOINTS }};
enum {{ STEP, C, CD = C + D, TAU = CD + D, Q = TAU + N, END = Q + NQ }}; /* value references: where each kind begins */
enum {{ AXES = {axes}, STOPS = {stops}, RUB = AXES + STOPS, WIDE = D + STOPS }}; /* axes that rub, springs of friction that remembers */

static const char GUID[] = "{guid}";
static const double HOME[D] = {{{home}}};
static const double LEAD = 0.02; /* [rad or m] from home to the start in steps as small as Newton's method follows */

typedef enum {{ fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending }} fmi2Status;
typedef void *fmi2Component;
typedef void *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef int fmi2Boolean;
typedef char fmi2Byte;
typedef const char *fmi2String;
typedef struct {{
  void (*logger)(void *, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
  void *(*allocateMemory)(size_t, size_t);
  void (*freeMemory)(void *);
  void (*stepFinished)(void *, fmi2Status);
  void *componentEnvironment;
}} fmi2CallbackFunctions;

typedef struct {{
  double value[END]; /* all variables, by value reference */
  {name}_state pose;
  double stretch[STOPS + 1]; /* of these springs */
  int begun; /* 1 where initialization is over */
}} Moving;

typedef struct {{
  Moving now;
  const fmi2CallbackFunctions *call;
  char name[128];
}} Instance;

static fmi2Status failed(const Instance *at, const char *why) {{
  if (at->call->logger) at->call->logger(at->call->componentEnvironment, at->name, fmi2Error, "logStatusError", why); /* texts of this file, without % */
  return fmi2Error;
}}

static fmi2Status flagged(const Instance *at, int flag) {{
  return failed(at, flag == 1 ? "{robot}: out of reach, or too fast for the step of integration: the loops do not close"
                              : "{robot}: a number is not finite (a singular pose, or a torque that is no number)");
}}

static void fresh(Instance *at) {{
  memset(&at->now, 0, sizeof at->now);
  at->now.value[STEP] = {step!r};
  memcpy(at->now.value + C, HOME, sizeof HOME);
  {name}_home(&at->now.pose);
  memcpy(at->now.value + Q, at->now.pose.q, sizeof at->now.pose.q);
}}

{stepping}
EXPORT const char *fmi2GetTypesPlatform(void) {{ return "default"; }}
EXPORT const char *fmi2GetVersion(void) {{ return "2.0"; }}

EXPORT fmi2Component fmi2Instantiate(fmi2String name, int type, fmi2String guid, fmi2String resources, const fmi2CallbackFunctions *call,
                                     fmi2Boolean visible, fmi2Boolean logging) {{
  Instance *at;
  (void)resources, (void)visible, (void)logging;
  if (!call || !call->allocateMemory || !call->freeMemory || type != 1 || !guid || strcmp(guid, GUID)) {{
    if (call && call->logger)
      call->logger(call->componentEnvironment, name, fmi2Error, "logStatusError",
                   "{robot}: for co-simulation only, and with the GUID of its own modelDescription.xml");
    return NULL;
  }}
  at = call->allocateMemory(1, sizeof *at);
  if (!at) return NULL;
  at->call = call;
  strncpy(at->name, name ? name : "", sizeof at->name - 1);
  at->name[sizeof at->name - 1] = 0;
  fresh(at);
  return at;
}}

EXPORT void fmi2FreeInstance(fmi2Component of) {{
  if (of) ((Instance *)of)->call->freeMemory(of);
}}

EXPORT fmi2Status fmi2Reset(fmi2Component of) {{ return fresh(of), fmi2OK; }}
EXPORT fmi2Status fmi2SetupExperiment(fmi2Component of, fmi2Boolean known, double tolerance, double start, fmi2Boolean ends, double stop) {{
  return (void)of, (void)known, (void)tolerance, (void)start, (void)ends, (void)stop, fmi2OK;
}}
EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component of) {{ return (void)of, fmi2OK; }}

EXPORT fmi2Status fmi2ExitInitializationMode(fmi2Component of) {{
  Instance *at = of;
  Moving *m = &at->now;
  double far = 0, c[D], cdd[D];
  int i, k, steps, flag = 0;
  for (i = 0; i < D; ++i)
    if (!(fabs(m->value[C + i] - HOME[i]) <= far)) far = fabs(m->value[C + i] - HOME[i]);
  if (!(far < 1000)) return failed(at, "{robot}: the start is not finite, or more than 1000 rad or m from home");
  if (!(m->value[STEP] >= 1e-7)) return failed(at, "{robot}: parameter 'step' [s] must be 1e-7 or more");
  {name}_home(&m->pose);
  steps = 1 + (int)(far / LEAD);
  for (k = 1; k <= steps && !flag; ++k) {{
    for (i = 0; i < D; ++i) c[i] = HOME[i] + (m->value[C + i] - HOME[i]) * k / steps;
    flag = fall(m, c, m->value + CD, cdd);
  }}
  if (flag || (flag = told(m))) return flagged(at, flag);
  m->begun = 1;
  return fmi2OK;
}}

EXPORT fmi2Status fmi2Terminate(fmi2Component of) {{ return (void)of, fmi2OK; }}

EXPORT fmi2Status fmi2DoStep(fmi2Component of, double from, double h, fmi2Boolean final) {{
  Instance *at = of;
  const Moving before = at->now;
  const double parts = ceil(h / at->now.value[STEP] - 1e-6);
  const long steps = parts > 1 ? (long)parts : 1;
  long k;
  int flag = 0;
  (void)from, (void)final;
  if (!at->now.begun || !(h >= 0) || !(parts < 1e9))
    return failed(at, "{robot}: a step before initialization, backwards, or of more than 1e9 steps of integration");
  for (k = 0; k < steps && !flag && h > 0; ++k) flag = moved(&at->now, h / steps);
  if (!flag && !(flag = told(&at->now))) return fmi2OK;
  at->now = before;
  return flagged(at, flag);
}}

EXPORT fmi2Status fmi2GetReal(fmi2Component of, const fmi2ValueReference *which, size_t n, double *value) {{
  size_t k;
  for (k = 0; k < n; ++k) {{
    if (which[k] >= END) return failed(of, "{robot}: no such variable");
    value[k] = ((Instance *)of)->now.value[which[k]];
  }}
  return fmi2OK;
}}

EXPORT fmi2Status fmi2SetReal(fmi2Component of, const fmi2ValueReference *which, size_t n, const double *value) {{
  Moving *m = &((Instance *)of)->now;
  size_t k;
  for (k = 0; k < n; ++k) {{
    if (which[k] >= Q || (m->begun && which[k] < TAU))
      return failed(of, "{robot}: only torques can be set; 'step', positions and speeds before the simulation begins");
    m->value[which[k]] = value[k];
  }}
  return fmi2OK;
}}

EXPORT fmi2Status fmi2GetFMUstate(fmi2Component of, fmi2FMUstate *kept) {{
  Instance *at = of;
  if (!*kept) *kept = at->call->allocateMemory(1, sizeof(Moving));
  if (!*kept) return failed(at, "{robot}: no memory");
  memcpy(*kept, &at->now, sizeof(Moving));
  return fmi2OK;
}}
EXPORT fmi2Status fmi2SetFMUstate(fmi2Component of, fmi2FMUstate kept) {{
  return memcpy(&((Instance *)of)->now, kept, sizeof(Moving)), fmi2OK;
}}
EXPORT fmi2Status fmi2FreeFMUstate(fmi2Component of, fmi2FMUstate *kept) {{
  if (*kept) ((Instance *)of)->call->freeMemory(*kept);
  return *kept = NULL, fmi2OK;
}}
EXPORT fmi2Status fmi2SerializedFMUstateSize(fmi2Component of, fmi2FMUstate kept, size_t *size) {{
  return (void)of, (void)kept, *size = sizeof(Moving), fmi2OK;
}}
EXPORT fmi2Status fmi2SerializeFMUstate(fmi2Component of, fmi2FMUstate kept, fmi2Byte *to, size_t size) {{
  if (size < sizeof(Moving)) return failed(of, "{robot}: too few bytes for the state");
  return memcpy(to, kept, sizeof(Moving)), fmi2OK;
}}
EXPORT fmi2Status fmi2DeSerializeFMUstate(fmi2Component of, const fmi2Byte *from, size_t size, fmi2FMUstate *kept) {{
  if (size < sizeof(Moving)) return failed(of, "{robot}: too few bytes for the state");
  if (fmi2GetFMUstate(of, kept)) return fmi2Error;
  return memcpy(*kept, from, sizeof(Moving)), fmi2OK;
}}

/* What this FMU has not: variables of other types, derivatives, steps that wait. */
#define OTHERS(kind, type) \\
  EXPORT fmi2Status fmi2Get##kind(fmi2Component of, const fmi2ValueReference *which, size_t n, type *value) {{ \\
    return (void)which, (void)value, n ? failed(of, "{robot}: all variables are real") : fmi2OK; \\
  }} \\
  EXPORT fmi2Status fmi2Set##kind(fmi2Component of, const fmi2ValueReference *which, size_t n, const type *value) {{ \\
    return (void)which, (void)value, n ? failed(of, "{robot}: all variables are real") : fmi2OK; \\
  }}
OTHERS(Integer, int)
OTHERS(Boolean, fmi2Boolean)
OTHERS(String, fmi2String)

EXPORT fmi2Status fmi2SetDebugLogging(fmi2Component of, fmi2Boolean on, size_t n, const fmi2String *categories) {{
  return (void)of, (void)on, (void)n, (void)categories, fmi2OK;
}}
EXPORT fmi2Status fmi2GetDirectionalDerivative(fmi2Component of, const fmi2ValueReference *unknown, size_t n, const fmi2ValueReference *known,
                                               size_t m, const double *along, double *found) {{
  return (void)unknown, (void)n, (void)known, (void)m, (void)along, (void)found, failed(of, "{robot}: no directional derivatives");
}}
EXPORT fmi2Status fmi2SetRealInputDerivatives(fmi2Component of, const fmi2ValueReference *which, size_t n, const int *order, const double *value) {{
  return (void)which, (void)n, (void)order, (void)value, failed(of, "{robot}: torques are held within a step");
}}
EXPORT fmi2Status fmi2GetRealOutputDerivatives(fmi2Component of, const fmi2ValueReference *which, size_t n, const int *order, double *value) {{
  return (void)which, (void)n, (void)order, (void)value, failed(of, "{robot}: no derivatives of outputs");
}}
EXPORT fmi2Status fmi2CancelStep(fmi2Component of) {{ return failed(of, "{robot}: no step waits"); }}
#define STATUS(kind, type) \\
  EXPORT fmi2Status fmi2Get##kind##Status(fmi2Component of, int what, type *value) {{ \\
    return (void)of, (void)what, (void)value, fmi2Discard; \\
  }}
STATUS(, fmi2Status)
STATUS(Real, double)
STATUS(Integer, int)
STATUS(Boolean, fmi2Boolean)
STATUS(String, fmi2String)
"""
