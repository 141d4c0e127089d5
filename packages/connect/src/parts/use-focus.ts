/** Focus on arrival. The `autofocus` attribute works once in a document's life; our screens come and go in one. */
import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

export function useFocus<Element extends HTMLElement>(wanted = true): RefObject<Element | null> {
  const element = useRef<Element>(null)
  useEffect(() => {
    if (wanted) element.current?.focus({ preventScroll: true })
  }, [wanted])
  return element
}
