// SPDX-License-Identifier: Apache-2.0
import { type Figure, figure } from "../measure/figure.ts";
import { atMost } from "./mark.ts";
import type { Usage } from "./usage.ts";

/**
 * What the protocol needs for an XR of two resources: the update that selects, the apply of the references, an apply of each resource, and
 * two of the status, before and after functions have seen the resources.
 */
const needed = 6;

const byUser = "POST pairs";
const isEvent = (name: string): boolean => name.endsWith(" events");
const isLease = (name: string): boolean => name.endsWith(" leases");

/** The writes of the control plane for each XR, one by one. */
export function writeFigures(writes: Usage, count: number): Figure[] {
  const made = Object.entries(writes).filter(([name, value]) => value > 0 && name !== byUser && !isLease(name));
  const work = made.filter(([name]) => !isEvent(name)).reduce((sum, [, value]) => sum + value, 0);
  return [
    ...made.map(([name, value]) => figure(`cluster: an XR's writes, ${name}`, "", [value / count])),
    figure("cluster: an XR's writes, all but events", "", [work / count], atMost(needed)),
  ];
}

/** The writes that keep nothing but the leader's Lease, and all others. */
export function idleWrites(writes: Usage): { readonly leases: number; readonly others: number } {
  const sum = (wanted: (name: string) => boolean): number =>
    Object.entries(writes).reduce((all, [name, value]) => all + (wanted(name) ? value : 0), 0);
  return { leases: sum(isLease), others: sum((name) => !isLease(name)) };
}
