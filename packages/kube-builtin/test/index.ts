// SPDX-License-Identifier: Apache-2.0
// A test server with the kinds of Kubernetes, also for the tests of kube-apiserver.
import type { ApiServerOptions } from "@purlin/kube-apiserver";
import type { KindDefinition, ResourceType, Store } from "@purlin/kube-apiserver/kinds";
import { serverKinds, startTestServer as start, type TestServer } from "@purlin/kube-apiserver/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { builtinKinds } from "../src/builtin-kinds.ts";

export type { TestServer } from "@purlin/kube-apiserver/testing";

/** Starts a server without a listener in a new directory. */
export function startTestServer(options: Partial<ApiServerOptions> = {}): Promise<TestServer> {
  return start({ kinds: builtinKinds, ...options });
}

const deps = { store: {} as Store<JsonObject>, now: () => new Date(0) };

/** All kinds of {@link startTestServer}. Rules that read the store do not work. */
export const testKinds: readonly KindDefinition[] = [...serverKinds(deps), ...builtinKinds(deps)];

export const testTypes: readonly ResourceType[] = testKinds.map(({ type }) => type);

/** The definition of one kind. */
export function testKind(apiVersion: string, kind: string): KindDefinition {
  const found = testKinds.find(({ type }) => {
    const group = type.group === "" ? "" : `${type.group}/`;
    return `${group}${type.version}` === apiVersion && type.kind === kind;
  });
  if (found === undefined) throw new Error(`${apiVersion} ${kind} is not served`);
  return found;
}
