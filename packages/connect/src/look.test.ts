import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { contrast, lightenFor, pickInk, type Rgb } from './look.ts'

const black: Rgb = [0, 0, 0]
const white: Rgb = [255, 255, 255]
const darkGround: Rgb = [15, 18, 20]

function everyColour(): Rgb[] {
  const parts = [0, 51, 102, 153, 204, 255]
  return parts.flatMap((red) => parts.flatMap((green) => parts.map((blue): Rgb => [red, green, blue])))
}

describe('the look of an integrator', () => {
  it('measures contrast as WCAG does', () => {
    assert.equal(contrast(black, white), 21)
    assert.equal(contrast(white, white), 1)
    // The example of WCAG technique G18: #777777 on white is just below the limit.
    assert.equal(Math.round(contrast([119, 119, 119], white) * 100), 448)
  })

  it('writes on any accent in a tone that can be read', () => {
    for (const accent of everyColour()) {
      const reached = contrast(pickInk(accent), accent)
      assert.ok(reached >= 4.5, `${accent.join(' ')}: ${reached}`)
    }
    assert.deepEqual(pickInk([123, 31, 162]), white)
    assert.deepEqual(pickInk([87, 199, 178]), black)
  })

  it('lightens an accent for the dark theme only as far as reading needs', () => {
    for (const accent of everyColour()) {
      const tone = lightenFor(darkGround, accent)
      assert.ok(contrast(tone, darkGround) >= 4.5, accent.join(' '))
      if (contrast(accent, darkGround) >= 4.5) assert.deepEqual(tone, accent)
    }
  })
})
