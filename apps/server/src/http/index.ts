/** Front door of the HTTP layer, for those who put the program together. */
export { createAdmission } from './admission.ts'
export { createCursors } from './cursor.ts'
export type { Log } from './log.ts'
export { createMetrics } from './metrics.ts'
export { findUnready } from './readiness.ts'
export { createServe } from './serve.ts'
export { createHttpServer } from './server.ts'
