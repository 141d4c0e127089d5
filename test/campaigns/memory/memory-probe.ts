/**
 * Loaded into a process before anything else (`node --expose-gc --import`). When its parent sends a message, it answers
 * with the bytes that the process retains: what is left of the heap after a collection, and what lies outside it.
 *
 * The resident memory that the kernel counts does not measure a leak: V8 keeps garbage for any time, and longer on a
 * busy machine.
 */
const { channel, send } = process
if (globalThis.gc === undefined || channel === undefined || send === undefined) {
  throw new Error('the memory probe needs --expose-gc and a parent that listens')
}
const collect = globalThis.gc

process.on('message', () => {
  // What the first collection finalizes is freed by the second.
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  process.send?.(heapUsed + external)
})
// The probe alone must not keep the process from ending.
channel?.unref()
