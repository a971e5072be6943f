// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import type { AdmissionChain } from "../admission/admission.ts";
import type { ResourceAccess } from "../auth/authorizer.ts";
import type { Catalog } from "../registry/registry.ts";
import type { ResourceType } from "../registry/resource-type.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { Store } from "../store/store.ts";
import type { ObjectStrategy } from "../strategy/object-strategy.ts";

/** What all requests for resources share. */
export interface RestServices {
  readonly store: Store<JsonObject>;
  readonly catalog: () => Catalog;
  readonly strategyOf: (type: ResourceType) => ObjectStrategy;
  readonly admission: AdmissionChain;
  readonly now: () => Date;
  readonly newUid: () => string;
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
