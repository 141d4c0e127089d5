/** What v1 and v2 share when they answer a refresh. */
import type { Refresh } from '../../sync/index.ts'

export function toRefreshHead({ refreshId, status, requestedAt }: Refresh) {
  return { refresh_id: refreshId, status, requested_at: requestedAt }
}

export function toRefreshData(refresh: Refresh) {
  return { ...toRefreshHead(refresh), connections: refresh.connections }
}

export function toRefreshV1(refresh: Refresh) {
  const connections = refresh.connections.map(({ provider_id: source, ...rest }) => ({
    ...rest,
    crypto_source_id: source,
  }))
  return { ...toRefreshHead(refresh), connections }
}
