// SPDX-License-Identifier: Apache-2.0
// What objects are and how they are called, for code that never opens a connection: nothing here loads a transport.
export type { KubeReader } from "./client.ts";

export type { CacheChange } from "./object-cache.ts";
export { isNoMatch, isNotServed, type RestMapper } from "./rest-mapper.ts";
