// SPDX-License-Identifier: Apache-2.0

import type { Clock, ControllerClient, EventRecorder, Log } from "@purlin/kube-controller";
import type { RandomInteger } from "@purlin/kube-objects/metadata";
import type { TypeRef } from "@purlin/kube-objects/object";

/** The kinds a claim controller looks after. */
export interface ClaimKind {
  /** The name of the definition that offers the claims. */
  readonly definition: string;
  readonly claimType: TypeRef;
  /** The kind of composite resource behind each claim. */
  readonly compositeType: TypeRef;
}

/** What can be set about claims. */
export interface ClaimSettings {
  /** Server-side apply from claim to composite resource, so that what is removed there is removed here. */
  readonly serverSideApply: boolean;
  /**
   * Whether a composite resource that is bound to this very claim, in another version of its kind, counts as bound to it.
   * Otherwise whoever moves a definition to another version edits the references.
   */
  readonly acceptOtherVersions: boolean;
}

/** What holds unless somebody says otherwise. */
export const defaultClaimSettings: ClaimSettings = { serverSideApply: true, acceptOtherVersions: false };

/** Everything a claim controller needs from its surroundings. */
export interface ClaimPorts {
  readonly kind: ClaimKind;
  readonly client: ControllerClient;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings?: Partial<ClaimSettings> | undefined;
  /** Makes the names of composite resources. */
  readonly random?: RandomInteger | undefined;
}
