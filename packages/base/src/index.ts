// SPDX-License-Identifier: Apache-2.0
// What packages without a common subject share: time, logging and the order of versions. Imports no other package.
export { type Clock, repeat, systemClock } from "./clock.ts";
export { type Log, type LogFields, silentLog } from "./log.ts";
export { compareSemanticVersions } from "./semantic-version.ts";
