// SPDX-License-Identifier: Apache-2.0
// What packages without a common subject share: time and logging. Imports no other package.
export { type Clock, repeat, systemClock } from "./clock.ts";
export { type Log, type LogFields, silentLog } from "./log.ts";
