// SPDX-License-Identifier: Apache-2.0
// What packages without a common subject share: time and schedules, turns of the event loop, logging, brands of errors, the order of strings and versions, and IP addresses. Imports
// no other package.
export { aborted, type Clock, parseGoDuration, repeat, systemClock } from "./clock.ts";
export { CronSyntaxError } from "./cron/cron-fields.ts";
export { type CronSchedule, isTimeZone, parseCron } from "./cron/cron-schedule.ts";
export { createErrorBrand } from "./error-brand.ts";
export {
  type Cidr,
  cidrOf,
  formatIpAddress,
  type IpAddress,
  IpSyntaxError,
  ipAddressOf,
  isMappedIPv4,
  parseCidr,
  parseIpAddress,
} from "./ip-address.ts";
export { type Log, type LogFields, silentLog } from "./log.ts";
export { memoize } from "./memoize.ts";
export { compareSemanticVersions, compareUtf8 } from "./order.ts";
export {
  type AwaitingWork,
  awaited,
  type Flow,
  finish,
  forEachLimited,
  inFlow,
  inOnePart,
  inOwnFlow,
  inTurns,
  isPartDone,
  soon,
  sorting,
  Turns,
  type Work,
} from "./turns.ts";
