// SPDX-License-Identifier: Apache-2.0
// What objects are and how they are called, for code that never opens a connection: nothing here loads a transport.
export type { KubeReader, KubeWriter } from "./client.ts";
export { deepFreeze, type KubeObject, keyOf, keyText, type ObjectKey, type TypeRef } from "./kube-object.ts";
export type { CacheChange } from "./object-cache.ts";
export { isNoMatch, NoMatchError, type RestMapper, type RestMapping } from "./rest-mapper.ts";
