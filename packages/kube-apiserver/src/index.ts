// SPDX-License-Identifier: Apache-2.0
export type { HistoryLimits } from "./store/history.ts";
export { openStore, type StoreOptions } from "./store/open-store.ts";
export type { Change, Codec, Entry, Store, Watch } from "./store/store.ts";
export { isStoreError, StoreError, type StoreErrorCode } from "./store/store-error.ts";
