// SPDX-License-Identifier: Apache-2.0
import { packageState, packageTypes } from "@purlin/explain";
import type { FunctionProcess } from "@purlin/function-process";
import { honoredDevelopmentOf } from "@purlin/function-runner";
import type { InformerLease, InformerPool } from "@purlin/kube-client";
import { type KubeObject, keyOf, type TypeRef } from "@purlin/kube-objects/object";
import { harmlessLine } from "../terminal/harmless.ts";
import { stateText } from "../tree/render-forest.ts";
import { upTrust } from "./source-functions.ts";
import type { Part } from "./status-snapshot.ts";

/**
 * The packages and the processes of functions. What a process reports is newer than the conditions that an earlier run of the
 * control plane left on its Function, so a Function that should run here is ready only when its process serves.
 */
export function packageParts(packages: readonly KubeObject[], processes: readonly FunctionProcess[]): Part[] {
  const running = new Map(processes.map((process) => [process.name, process]));
  const ofPackages = packages.flatMap((object) => partOf(object, running));
  const listed = new Set(ofPackages.map(({ title }) => title));
  return [...ofPackages, ...processes.map(processPart).filter(({ title }) => !listed.has(title))];
}

type Running = ReadonlyMap<string, FunctionProcess>;

function partOf(object: KubeObject, running: Running): readonly Part[] {
  const name = object.metadata.name ?? "";
  const title = `${object.kind} ${name}`;
  const development = object.kind === "Function" ? honoredDevelopmentOf(object, upTrust) : undefined;
  if (development?.kind === "source") {
    const process = running.get(name);
    return [process === undefined ? { title, text: "starting", state: "waiting" } : processPart(process)];
  }
  // Another program serves it; its failures are seen where it is called.
  if (development !== undefined) return [];
  return packagePart(object, title, running);
}

function packagePart(object: KubeObject, title: string, running: Running): readonly Part[] {
  const state = packageState(object);
  const revision = (object["status"] as { readonly currentRevision?: string } | undefined)?.currentRevision ?? "";
  const process = running.get(revision);
  if (state.health === "ready") {
    const isStarting = object.kind === "Function" && process === undefined;
    return [isStarting ? { title, text: "starting", state: "waiting" } : { title, text: "ready", state: "ready" }];
  }
  if (process?.state.phase === "failed") {
    return [{ title, text: `waiting for ${object.kind}Revision ${revision}`, state: "covered" }];
  }
  return [{ title, text: stateText(state), state: isFinal(object) ? "problem" : "waiting" }];
}

/** A package that could not be fetched needs attention; one that is being installed needs time. */
function isFinal(object: KubeObject): boolean {
  return packageState(object).reasons.some((reason) => reason.includes("UnpackingPackage"));
}

function processPart({ name, state, root, isProvider }: FunctionProcess): Part {
  // A process that runs from an image is that of a revision.
  const kind = root === undefined ? "Function" : "FunctionRevision";
  const title = `${isProvider ? "ProviderRevision" : kind} ${name}`;
  if (state.phase === "failed") return { title, text: harmlessLine(state.problem), state: "problem" };
  if (state.phase === "starting") return { title, text: "starting", state: "waiting" };
  if (state.problem === undefined) return { title, text: "serving", state: "ready" };
  const text = `${harmlessLine(state.problem)} (the last working version keeps serving)`;
  return { title, text, state: "problem" };
}

const extensions = "apiextensions.crossplane.io/v1";
const compositionType: TypeRef = { apiVersion: extensions, kind: "Composition" };
const revisionType: TypeRef = { apiVersion: extensions, kind: "CompositionRevision" };

/** What composing needs beside definitions: packages and Compositions, as they are now. */
export interface PackageSource {
  readonly packages: readonly KubeObject[];
  readonly compositions: readonly KubeObject[];
  readonly compositionRevisions: readonly KubeObject[];
}

/** A {@link PackageSource} that follows an API server. */
export interface PackageWatch extends PackageSource, AsyncDisposable {
  /** Whether objects of a type are followed here. */
  has(type: TypeRef): boolean;
  find(object: KubeObject): KubeObject | undefined;
  ready(signal: AbortSignal): Promise<void>;
}

/** Follows packages and Compositions through informers that controllers share. */
export function watchPackages(informers: InformerPool, onChange: () => void): PackageWatch {
  const types = [...packageTypes, compositionType, revisionType];
  const leases = new Map<string, InformerLease>(types.map((type) => [textOf(type), informers.acquire(type)]));
  const stops = [...leases.values()].map(({ informer }) => informer.subscribe(onChange));
  const list = (...wanted: readonly TypeRef[]): readonly KubeObject[] =>
    wanted.flatMap((type) => leases.get(textOf(type))?.informer.list() ?? []);
  return {
    get packages() {
      return list(...packageTypes);
    },
    get compositions() {
      return list(compositionType);
    },
    get compositionRevisions() {
      return list(revisionType);
    },
    has: (type) => leases.has(textOf(type)),
    find: (object) => leases.get(textOf(object))?.informer.get(keyOf(object)),
    async ready(signal) {
      await Promise.all([...leases.values()].map(({ informer }) => informer.ready(signal)));
    },
    async [Symbol.asyncDispose]() {
      for (const stop of stops) stop();
      await Promise.all([...leases.values()].map((lease) => lease.release()));
    },
  };
}

function textOf({ apiVersion, kind }: TypeRef): string {
  return `${apiVersion}/${kind}`;
}
