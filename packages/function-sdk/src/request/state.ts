// SPDX-License-Identifier: Apache-2.0
import { Ready, type Resource, type RunFunctionRequest, type State, type Struct } from "@purlin/function-protocol";
import { CompositeObject } from "../resource/composite-object.ts";
import { ComposedObject, type DesiredComposed } from "../resource/convert.ts";

/** Raw bytes, such as a value of a Secret. */
export type Bytes = Uint8Array;

/** A composite resource. */
export interface Composite {
  resource: CompositeObject;
  connectionDetails: Map<string, Bytes>;
  ready: Ready;
}

/** A composed resource that exists. */
export interface ObservedComposed {
  readonly resource: ComposedObject;
  readonly connectionDetails: Map<string, Bytes>;
}

/** The composite resource as it is. Parts the request lacks are empty. Its `object` is frozen; its setters copy. */
export function getObservedCompositeResource(req: RunFunctionRequest): Composite {
  return toComposite(req.observed?.composite, (struct) => new CompositeObject(struct, "shared"));
}

/** The composite resource as earlier steps want it: yours to edit and hand to response.setDesiredCompositeResource. */
export function getDesiredCompositeResource(req: RunFunctionRequest): Composite {
  return toComposite(req.desired?.composite, (struct) => new CompositeObject(struct, "private"));
}

/** The composed resources that exist, by their name in the pipeline. Their `object` is frozen; their setters copy. */
export function getObservedComposedResources(req: RunFunctionRequest): Map<string, ObservedComposed> {
  return mapResources(req.observed, (message) => ({
    resource: new ComposedObject(message.resource, "shared"),
    connectionDetails: new Map(message.connectionDetails),
  }));
}

/** The composed resources earlier steps want: yours to edit and hand to response.setDesiredComposedResources. */
export function getDesiredComposedResources(req: RunFunctionRequest): Map<string, DesiredComposed> {
  return mapResources(req.desired, (message) => ({
    resource: new ComposedObject(message.resource, "private"),
    ready: message.ready,
  }));
}

function toComposite(message: Resource | undefined, wrap: (struct: Struct | undefined) => CompositeObject): Composite {
  return {
    resource: wrap(message?.resource),
    connectionDetails: new Map(message?.connectionDetails),
    ready: message?.ready ?? Ready.READY_UNSPECIFIED,
  };
}

function mapResources<T>(state: State | undefined, change: (message: Resource) => T): Map<string, T> {
  const changed = new Map<string, T>();
  for (const [name, message] of state?.resources ?? []) changed.set(name, change(message));
  return changed;
}
