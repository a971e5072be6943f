// SPDX-License-Identifier: Apache-2.0

import { type JsonObject, printJson } from "@purlin/kube-objects/json";
import { belongsToCandidate, type CompositeRow } from "./composites.ts";
import type { GateSamples, ShadowNumbers } from "./gates.ts";
import type { RolloutState } from "./state.ts";

/** The worst difference that a shadow run found for a composite resource. */
type ShadowClass = "none" | "cosmetic" | "slower" | "change" | "replace" | "delete" | "fatal" | "error";

/** What was found for a composite resource. */
interface ShadowFinding {
  readonly composite: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace?: string | undefined;
    readonly name: string;
    readonly uid: string;
  };
  readonly class: ShadowClass;
  readonly message?: string | undefined;
  readonly resources: readonly { readonly resource: string; readonly kind: string; readonly class: string }[];
}

/** Where reports of shadow runs are read from. */
export interface ShadowSource {
  report(rolloutUid: string): { readonly total: number; readonly classes: Readonly<Record<ShadowClass, number>> };
  /** The worst first. */
  details(rolloutUid: string): readonly ShadowFinding[];
  has(rolloutUid: string, compositeUid: string): boolean;
  forget(rolloutUid: string): void;
  /** Forgets all rollouts but these. */
  retainRollouts(rolloutUids: readonly string[]): void;
  /** Forgets all composite resources of a rollout but these. */
  retainComposites(rolloutUid: string, composites: readonly { readonly uid: string }[]): void;
}

const exampleLimit = 10;
const statusComposites = 200;
const statusResources = 5;
/** The characters of all composite resources in a status. */
const statusBytes = 100_000;

/** The report for the status of a rollout: bounded, the worst first. Undefined before the first comparison. */
export function shadowStatus(rolloutUid: string, shadow: ShadowSource | undefined): JsonObject | undefined {
  const report = shadow?.report(rolloutUid);
  if (shadow === undefined || report === undefined || report.total === 0) return undefined;
  const changed = shadow.details(rolloutUid).filter((one) => one.class !== "none");
  let left = statusBytes;
  const composites = changed.slice(0, statusComposites).map(statusEntry);
  return {
    compared: report.total,
    classes: Object.fromEntries(Object.entries(report.classes).filter(([, count]) => count > 0)),
    composites: composites.filter((one) => {
      left -= printJson(one).length;
      return left >= 0;
    }),
  };
}

function statusEntry({ composite, class: kind, message, resources }: ShadowFinding): JsonObject {
  return {
    apiVersion: composite.apiVersion,
    kind: composite.kind,
    ...(composite.namespace !== undefined && composite.namespace !== "" && { namespace: composite.namespace }),
    name: composite.name,
    class: kind,
    ...(message !== undefined && { message: message.slice(0, 256) }),
    resources: resources
      .filter((one) => one.class !== "none")
      .slice(0, statusResources)
      .map((one) => ({ resource: one.resource, kind: one.kind, class: one.class })),
  };
}

/** The numbers of shadow runs for gates. */
export function shadowNumbers(
  rolloutUid: string,
  shadow: ShadowSource | undefined,
  { rows, state }: { readonly rows: readonly CompositeRow[]; readonly state: RolloutState },
): Pick<GateSamples, "shadow" | "pendingShadows"> {
  const due = rows.filter(
    (row) => row.isMovable && row.bucket < state.shadowThreshold && !belongsToCandidate(row, state),
  );
  const pendingShadows = due.filter(({ uid, isSynced }) => isSynced && shadow?.has(rolloutUid, uid) !== true).length;
  const report = shadow?.report(rolloutUid);
  if (shadow === undefined || report === undefined || report.total === 0) return { shadow: undefined, pendingShadows };
  const { classes } = report;
  const kinds: Readonly<Record<Parameters<ShadowNumbers["examples"]>[0], readonly ShadowClass[]>> = {
    delete: ["delete"],
    replace: ["replace"],
    change: ["change"],
    failed: ["fatal", "error"],
  };
  return {
    pendingShadows,
    shadow: {
      compared: report.total,
      deleted: classes.delete,
      replaced: classes.replace,
      changed: classes.change,
      failed: classes.fatal + classes.error,
      examples: (kind) =>
        shadow
          .details(rolloutUid)
          .filter((one) => kinds[kind].includes(one.class))
          .slice(0, exampleLimit)
          .map(({ composite }) => (composite.namespace ? `${composite.namespace}/${composite.name}` : composite.name)),
    },
  };
}
