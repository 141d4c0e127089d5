import type { Catalog } from './use-catalog.ts'
import type { Flow } from '../flow/use-flow.ts'

/** The props of every screen. */
export interface ScreenProps {
  flow: Flow
  catalog: Catalog
  /** Asks first when something would be lost. */
  onLeave: () => void
}
