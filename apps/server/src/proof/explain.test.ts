import assert from 'node:assert/strict'
import { it } from 'node:test'
import { maskAddresses } from './explain.ts'

it('the name in an e-mail address is masked, wherever it stands in a record; the rest keeps every character', () => {
  const cases: [string, string][] = [
    ['{"from":"ann.o+x@mail.example.com","amount":"1"}', '{"from":"***@mail.example.com","amount":"1"}'],
    ['{"note":"from ann@a.example, bob@b.example."}', '{"note":"from ***@a.example, ***@b.example."}'],
    ['{"note":"mailto:jürgen@müller.example"}', '{"note":"mailto:***@müller.example"}'],
    ['{"handle":"@ann","price":"1 @ 2","amount":"0.10"}', '{"handle":"@ann","price":"1 @ 2","amount":"0.10"}'],
  ]
  for (const [body, masked] of cases) assert.equal(maskAddresses(body), masked)
})
