// SPDX-License-Identifier: Apache-2.0
import { forbidden } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { AdmissionChain } from "../admission/admission.ts";
import type { Authorizer, ResourceAccess } from "../auth/authorizer.ts";
import type { EscalationCheck } from "../auth/rbac/escalation.ts";
import type { User } from "../auth/user.ts";
import { metaOf } from "../objects/object-members.ts";
import type { Catalog, ResourceType } from "../registry/registry.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { Store } from "../store/store.ts";
import type { ObjectStrategy } from "../strategy/object-strategy.ts";
import type { DeleteGuard } from "./delete-guard.ts";

/** A write that is about to be stored, in the version of its request. */
interface GuardedWrite {
  readonly user: User;
  readonly group: string;
  readonly resource: string;
  readonly object: JsonObject;
  /** Undefined for a new object. */
  readonly old: JsonObject | undefined;
  /** The object of the user, when webhooks or policies have changed it. */
  readonly sent?: JsonObject;
}

/** Decides about a write by its user and its effect, which authorization cannot see. Returns why it is forbidden. */
export type WriteGuard = (write: GuardedWrite) => string | undefined;

/** What all requests for resources share. */
export interface RestServices {
  readonly store: Store<JsonObject>;
  readonly catalog: () => Catalog;
  readonly strategyOf: (type: ResourceType) => ObjectStrategy;
  readonly admission: AdmissionChain;
  readonly now: () => Date;
  readonly newUid: () => string;
  readonly guard?: WriteGuard | undefined;
  readonly guardDelete?: DeleteGuard | undefined;
  readonly authorizer: Authorizer;
  /** Throws when the write would grant rights that its user does not hold. */
  readonly requiringNoEscalation: EscalationCheck;
}

/** One request for one resource. */
export interface RestRequest extends RestServices {
  readonly request: ApiRequest;
  readonly target: ResourceAccess;
  readonly type: ResourceType;
  readonly strategy: ObjectStrategy;
  /** Warnings for the client, whatever the outcome of the request. */
  readonly notes: string[];
}

/** Throws 403 when the server's own rules forbid the write. */
export function requireAllowed(
  rest: RestRequest,
  object: JsonObject,
  before: Pick<GuardedWrite, "old" | "sent">,
): void {
  const { guard, request, type } = rest;
  const why = guard?.({ user: request.user, group: type.group, resource: type.resource, object, ...before });
  if (why !== undefined) throw forbidden(type, metaOf(object).name ?? "", why);
}
