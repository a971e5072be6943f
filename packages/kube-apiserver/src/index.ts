// SPDX-License-Identifier: Apache-2.0

export { defaultPlugins, pluginNames } from "./admission/admission.ts";
export type { AuditOptions } from "./audit/audit.ts";
export { type AuditPolicy, parseAuditPolicy } from "./audit/audit-policy.ts";
export {
  type AccessAttributes,
  type AccessDecision,
  type Authorization,
  type Authorizer,
  adminAuthorizer,
} from "./auth/authorizer.ts";
export { revokeUser } from "./auth/revoked-users.ts";
export { type Credentials, mastersGroup, staticTokens, type TokenAuthenticator, type User } from "./auth/user.ts";
export type { ApiRequest, ApiResponse, EventStream, Payload, RequestBody, StreamEvent } from "./request/api-request.ts";
export type { DeleteGuard } from "./rest/delete-guard.ts";
export type { WriteGuard } from "./rest/rest-context.ts";
export { type ApiListener, type ApiServer, type ApiServerOptions, startApiServer } from "./server/api-server.ts";
export type { Handler } from "./server/handler.ts";
export { createMemoryServer, type MemoryServer } from "./server/memory-server.ts";
export { issueUserKubeconfig } from "./server/user-kubeconfig.ts";
export { isHolderEnding, takeDataDirectory } from "./store/data-directory.ts";
export type { HistoryLimits } from "./store/history.ts";
export {
  checkSnapshot,
  removeSnapshot,
  restoreSnapshot,
  type SnapshotSummary,
  snapshotFile,
  snapshotPath,
  writeSnapshotOf,
} from "./store/snapshot.ts";
export { isStoreError, StoreError, type StoreErrorCode } from "./store/store-error.ts";
