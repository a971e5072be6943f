// SPDX-License-Identifier: Apache-2.0
// What objects are and how they are called, for code that never opens a connection: nothing here loads a transport.
export type { KubeReader, KubeWriter } from "./client.ts";

export type { CacheChange } from "./object-cache.ts";
export { isNoMatch, NoMatchError, type RestMapper, type RestMapping } from "./rest-mapper.ts";
