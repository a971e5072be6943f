// SPDX-License-Identifier: Apache-2.0

import type { Clock, Log } from "@purlin/base";
import type { ControllerClient, EventRecorder } from "@purlin/kube-controller";
import type { RandomInteger } from "@purlin/kube-objects/metadata";
import type { TypeRef } from "@purlin/kube-objects/object";

/** The kinds that a claim controller reconciles. */
export interface ClaimKind {
  /** The name of the definition that offers the claims. */
  readonly definition: string;
  readonly claimType: TypeRef;
  /** The kind of composite resource behind each claim. */
  readonly compositeType: TypeRef;
}

/** The settings of claim controllers. */
export interface ClaimSettings {
  /** Server-side apply from claim to composite resource, so that a field removed from the claim is removed from the composite resource. */
  readonly serverSideApply: boolean;
  /**
   * Whether a composite resource that is bound to this very claim, in another version of its kind, counts as bound to it.
   * Otherwise a user who moves a definition to another version has to edit the references.
   */
  readonly acceptOtherVersions: boolean;
}

/** The default settings. */
export const defaultClaimSettings: ClaimSettings = { serverSideApply: true, acceptOtherVersions: false };

/** The dependencies of a claim controller. */
export interface ClaimDeps {
  readonly kind: ClaimKind;
  readonly client: ControllerClient;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings?: Partial<ClaimSettings> | undefined;
  /** Makes the names of composite resources. */
  readonly random?: RandomInteger | undefined;
}
