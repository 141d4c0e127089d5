/**
 * Pressing the mouse button on something takes the focus from a field, before the click. If the page moves in between,
 * the button comes up over something else and the browser drops the click. A change of the layout that a blur causes
 * therefore waits until the click has happened. A tap works the same way: the browser sends it as mouse events, after
 * the finger has left the screen.
 */
import { useEffect, useRef } from 'preact/hooks'

/** Dragging a selection and opening a menu end a press without `mouseup`. */
const endsOfPress = ['mouseup', 'pointercancel', 'contextmenu'] as const

/** The function it returns runs `change` at once if nothing is pressed. */
export function useAfterPress(): (change: () => void) => void {
  const isPressed = useRef(false)
  const postponed = useRef<(() => void) | undefined>(undefined)
  useEffect(() => {
    const controller = new AbortController()
    const options = { capture: true, signal: controller.signal }
    document.addEventListener('mousedown', () => (isPressed.current = true), options)
    const end = (): void => {
      isPressed.current = false
      const change = postponed.current
      postponed.current = undefined
      // `click` follows `mouseup` in the same task.
      if (change !== undefined) setTimeout(change)
    }
    for (const name of endsOfPress) document.addEventListener(name, end, options)
    return () => controller.abort()
  }, [])
  return (change) => {
    if (isPressed.current) postponed.current = change
    else change()
  }
}
