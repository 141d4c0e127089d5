import type { Catalog } from './use-catalog.ts'
import type { Flow } from '../flow/use-flow.ts'

/** What every screen is handed. */
export interface ScreenProps {
  flow: Flow
  catalog: Catalog
  /** Asks first when something would be lost. */
  onLeave: () => void
}
