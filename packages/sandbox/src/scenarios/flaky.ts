import type { FaultKind } from '../core/faults.ts'

/** The scenario `flaky`: the same at every provider, but for how each says that there were too many calls. */
export function flaky(tooManyCalls: FaultKind) {
  return {
    name: 'flaky',
    title: 'A bad connection',
    description:
      'After four calls, every other one fails in another way: 5xx, reset, broken JSON, HTML, repeated rows.',
    expects: 'Connects; reading retries and ends complete, nothing twice.',
    weather: {
      calmCalls: 4,
      cycle: [
        ...(['http_5xx', 'calm', 'reset', 'calm', 'duplicate_rows', 'truncated_json', 'calm'] as const),
        ...(['html', 'calm', 'duplicate_rows', 'service_unavailable', 'calm'] as const),
        tooManyCalls,
        'calm' as const,
      ],
    },
  }
}
