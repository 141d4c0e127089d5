import type { FaultKind } from '../core/serving/faults.ts'

/** Some first calls of a reader depend on each other, and no program can work if three in a row never succeed. */
export const calmStretch = Array<'calm'>(8).fill('calm')

/** The scenario `flaky`: the same at every provider, except for the text of "too many calls". */
export function flaky(tooManyCalls: FaultKind) {
  return {
    name: 'flaky',
    title: 'A bad connection',
    description:
      'After eight calls, every other one fails in another way (5xx, reset, broken JSON, HTML, repeated rows), with calm stretches between.',
    expects: 'Connects; reading retries and ends complete, nothing twice.',
    weather: {
      calmCalls: calmStretch.length,
      cycle: [
        ...(['http_5xx', 'calm', 'reset', 'calm', 'duplicate_rows', 'truncated_json', 'calm'] as const),
        ...(['html', 'calm', 'duplicate_rows', 'service_unavailable', 'calm'] as const),
        tooManyCalls,
        'calm' as const,
        ...calmStretch,
      ],
    },
  }
}
