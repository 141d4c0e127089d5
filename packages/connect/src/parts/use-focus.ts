/** Focus on arrival. The `autofocus` attribute works once for each document, and all our screens share one document. */
import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

export function useFocus<Element extends HTMLElement>(wanted = true): RefObject<Element | null> {
  const element = useRef<Element>(null)
  useEffect(() => {
    if (wanted) element.current?.focus({ preventScroll: true })
  }, [wanted])
  return element
}
