// SPDX-License-Identifier: Apache-2.0
// Updaters could pile up without end, one entry for each tool that ever touched an object. Beyond ten, the oldest are
// counted together.
import { compareUtf8 } from "../json/utf8.ts";
import { union } from "./field-set-algebra.ts";
import { type ManagerIdentity, type Managers, managerKey, type OwnedFields, unixSeconds } from "./managers.ts";

const maxUpdaters = 10;
const bucketName = "ancient-changes";

/** The managers with at most ten updaters: the oldest merged, per version, into `ancient-changes`. */
export function capUpdaters(managers: Managers): Managers {
  const updaters = [...managers.owned].filter(([, { applied }]) => !applied).map(([key]) => key);
  if (updaters.length <= maxUpdaters) return managers;
  const owned = new Map(managers.owned);
  const identities = new Map(managers.identities);
  const times = new Map(managers.times);
  const oldest = updaters.sort((a, b) => age(managers, a) - age(managers, b) || compareUtf8(a, b));
  const firstAt = new Map<string, string>();
  let count = updaters.length;
  for (const key of oldest) {
    if (count <= maxUpdaters) break;
    const fields = managers.owned.get(key);
    if (!fields) continue;
    const first = firstAt.get(fields.apiVersion);
    if (first === undefined) {
      firstAt.set(fields.apiVersion, key);
      continue;
    }
    const bucket = openBucket({ owned, identities }, fields.apiVersion, first);
    const merged = union(fields.set, owned.get(bucket)?.set ?? fields.set);
    owned.set(bucket, { ...fields, set: merged });
    owned.delete(key);
    // The merged update is the more recent one.
    setTime(times, bucket, managers.times.get(key));
    count--;
  }
  return { ...managers, owned, identities, times };
}

const age = (managers: Managers, key: string): number => unixSeconds(managers.times.get(key));

interface Growing {
  readonly owned: Map<string, OwnedFields>;
  readonly identities: Map<string, ManagerIdentity>;
}

function openBucket({ owned, identities }: Growing, apiVersion: string, first: string): string {
  const identity: ManagerIdentity = { manager: bucketName, operation: "Update", apiVersion, subresource: "" };
  const key = managerKey(identity);
  const seed = owned.get(first);
  if (!owned.has(key) && seed) {
    owned.delete(first);
    owned.set(key, seed);
    identities.set(key, identity);
  }
  return key;
}

function setTime(times: Map<string, string>, key: string, time: string | undefined): void {
  if (time === undefined) times.delete(key);
  else times.set(key, time);
}
