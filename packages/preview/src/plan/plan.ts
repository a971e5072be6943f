// SPDX-License-Identifier: Apache-2.0

import type { FieldChange } from "@purlin/kube-objects/difference";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { Approximation } from "../overlay/overlay-entry.ts";
import type { UsedFunction } from "../settle/step-record.ts";

/** What happens to an object. */
export type ChangeClass =
  | "create"
  | "update"
  | "delete"
  /** Another object takes its resource name. */
  | "replace"
  /** Deleted in one round and made again in a later one. */
  | "recreate"
  /** An object that nothing controlled gets a controller. */
  | "adopt"
  /** No longer referred to, and not deleted. */
  | "leave-behind"
  /** The API server refuses the write. */
  | "refused";

/** One object that a change set changes. */
export interface PlannedChange {
  readonly class: ChangeClass;
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  /** Whether the API server, or a uid that it gives, decides the name. */
  readonly isNameGenerated: boolean;
  /** The generated name of another object that is part of the name. */
  readonly generatedFrom?: string | undefined;
  /** The name in the pipeline. */
  readonly resource?: string | undefined;
  readonly step?: string | undefined;
  readonly round: number;
  /** What is assumed to happen before. */
  readonly after?: string | undefined;
  readonly approximate: readonly Approximation[];
  /** What happens to the resource that a managed resource manages; whether an update replaces it is not known here. */
  readonly external?: "kept" | "deleted" | "unknown" | undefined;
  readonly refusal?: { readonly text: string; readonly isInvalid: boolean } | undefined;
  /** Finalizers for which a deleted object waits. */
  readonly waitsFor?: readonly string[] | undefined;
  readonly isDestructive: boolean;
  readonly fields: readonly FieldChange[];
  /** Without sensitive values, and without what is not compared. */
  readonly old?: JsonObject | undefined;
  readonly new?: JsonObject | undefined;
  /** Paths that differ from run to run. */
  readonly unstable?: readonly string[] | undefined;
  /** Over the change with all its values, also those that are not shown. */
  readonly digest: string;
  /** The identity of the object that takes its place, or whose place it takes. */
  readonly replacedBy?: string | undefined;
  readonly replaces?: string | undefined;
}

/** What happens to a composite resource when the Composition that it uses changes. */
export type Adoption =
  | "adopts"
  | "leaves"
  | "newly selects"
  | "pinned"
  | "selector"
  | "deleting"
  | "paused"
  | "unaffected";

/** Why a composite resource could not be previewed. */
export interface PlanError {
  readonly text: string;
  /** Whether what was given is wrong, and not the preview. */
  readonly isInvalid: boolean;
}

/** One composite resource with what it composes. */
export interface PlannedComposite {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly isNameGenerated: boolean;
  readonly composition?: string | undefined;
  readonly revision?: { readonly from?: number | undefined; readonly to?: number | undefined } | undefined;
  readonly adoption: Adoption;
  /** Why nothing is applied until the plan with this hash is approved. */
  readonly held?: { readonly reason: string; readonly message: string; readonly hash: string | undefined } | undefined;
  readonly rounds: number;
  /** Why the forecast ended before everything was ready. */
  readonly incomplete?: string | undefined;
  readonly changes: readonly PlannedChange[];
  /** What would happen without the change set too. */
  readonly pending: readonly PlannedChange[];
  /** Its changes happen only when its owner moves it to the new revision; they are not counted. */
  readonly isDeferred: boolean;
  readonly errors: readonly PlanError[];
}

/** Counts of changes, those that would happen anyway left out. */
export interface PlanSummary {
  readonly added: number;
  readonly modified: number;
  readonly removed: number;
  readonly replaced: number;
  readonly recreated: number;
  readonly refused: number;
  readonly pending: number;
  readonly destructive: number;
}

/** How serious a change of a definition is. */
export interface DefinitionFinding {
  readonly definition: string;
  readonly path: string;
  readonly level: "safe" | "risky" | "breaking";
  readonly text: string;
  /** The live objects that it concerns, as `Kind namespace/name`. */
  readonly objects: readonly string[];
}

/** What a change set does to a control plane. */
export interface Plan {
  /** Objects of the change set that are neither composite resources nor claims. */
  readonly inputs: readonly PlannedChange[];
  readonly composites: readonly PlannedComposite[];
  /** How many composite resources were looked at; those without findings are not listed. */
  readonly examined: number;
  readonly findings: readonly DefinitionFinding[];
  readonly errors: readonly PlanError[];
  readonly summary: PlanSummary;
  /** Binds an approval to this plan: SHA-256 over the changes. */
  readonly hash: string;
  /** The control plane changed while the preview ran. */
  readonly isStale: boolean;
  readonly hasBaseline: boolean;
  readonly warnings: readonly string[];
  /** The functions that ran. */
  readonly functions: readonly UsedFunction[];
}
