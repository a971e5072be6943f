// SPDX-License-Identifier: Apache-2.0
// The lazy graph: objects and the objects they wait for, inspected one after the other.
import type { KubeObject } from "@purlin/kube-objects/object";
import { composedReport } from "./causes/composed.ts";
import { claimReport, compositeReport } from "./causes/composites.ts";
import { definitionReport } from "./causes/definitions.ts";
import { isOperationKind, operationReport } from "./causes/operations.ts";
import { isPackageRevision, packageReport, revisionReport } from "./causes/packages.ts";
import { refText } from "./inspect/facts.ts";
import { definitionType, type Inspection, kindKey } from "./inspect/inspection.ts";
import type { Cause, Edge, Evidence, Finding, NodeReport, Note, ObjectRef, Waiting } from "./model/explanation.ts";
import { textOfRef } from "./read/reader.ts";
import { isPackage } from "./state/object-state.ts";

/** Far deeper than composite resources are nested; ends the walk of two that compose each other. */
const maxDepth = 20;

/** A cause with what its order depends on. */
export interface RankedCause {
  readonly cause: Cause;
  /** 0 for the object itself and its steps, 1 for what it composes. */
  readonly stage: number;
  /** How many paths lead to it. */
  effects: number;
}

/** Everything that a walk found. */
export interface WalkResult {
  readonly causes: RankedCause[];
  readonly waiting: Waiting[];
  readonly unknown: Evidence[];
  readonly notes: Note[];
}

interface Position {
  readonly chain: readonly string[];
  readonly stage: number;
}

/** Walks from an object to the causes of its state. */
export async function walk(root: ObjectRef, inspection: Inspection): Promise<WalkResult> {
  const walker = new Walker(inspection);
  await walker.visit({ to: root }, { chain: [], stage: 0 });
  return walker.result;
}

class Walker {
  readonly result: WalkResult = { causes: [], waiting: [], unknown: [], notes: [] };
  readonly #inspection: Inspection;
  readonly #visited = new Map<string, RankedCause[]>();

  constructor(inspection: Inspection) {
    this.#inspection = inspection;
  }

  /** Inspects an object and what it waits for. Returns the causes found there. */
  async visit({ to, via }: Edge, { chain, stage }: Position): Promise<readonly RankedCause[]> {
    const key = textOfRef(to);
    const known = this.#visited.get(key);
    if (known !== undefined) {
      for (const one of known) one.effects += 1;
      return known;
    }
    const found: RankedCause[] = [];
    this.#visited.set(key, found);
    const at: Position = { chain: [...chain, ...(via === undefined ? [] : [via]), refText(to)], stage };
    if (chain.length >= maxDepth) return found;
    const object = await this.#inspection.reader.find(to);
    if (object === undefined) return found;
    const report = await inspectObject(object, this.#inspection);
    this.#keep(to, report, at);
    for (const finding of report.findings ?? []) found.push(...(await this.#follow(finding, at)));
    for (const edge of report.edges ?? []) {
      const isOwn = this.#inspection.kinds.get(kindKey(to))?.role === "claim" || isPackage(to);
      found.push(...(await this.visit(edge, { chain: at.chain, stage: isOwn ? stage : 1 })));
    }
    return found;
  }

  #keep(object: ObjectRef, report: NodeReport, { chain }: Position): void {
    this.result.waiting.push(...(report.waiting ?? []).map((one) => ({ object, ...one, effects: chain })));
    this.result.notes.push(...(report.notes ?? []).map((one) => ({ object, ...one })));
    this.result.unknown.push(...(report.unknown ?? []));
  }

  /** A finding is a cause unless what it waits for is broken. */
  async #follow(finding: Finding, { chain, stage }: Position): Promise<readonly RankedCause[]> {
    const { waitsFor = [], effectOnly = false, via, ...own } = finding;
    const below: RankedCause[] = [];
    for (const edge of waitsFor) below.push(...(await this.visit(edge, { chain, stage })));
    if (below.length > 0) return below;
    const effects = [...chain, ...(via === undefined ? [] : [via])];
    if (effectOnly) {
      this.result.waiting.push({ object: own.object, since: own.since, text: own.sentence, effects });
      return [];
    }
    const last = refText(own.object);
    const cause = { ...own, effects: effects.at(-1) === last || effects.includes(last) ? effects : [...effects, last] };
    const ranked: RankedCause = { cause, stage, effects: 1 };
    this.result.causes.push(ranked);
    return [ranked];
  }
}

/** Inspects one object, by its kind. */
function inspectObject(object: KubeObject, inspection: Inspection): Promise<NodeReport> {
  const defined = inspection.kinds.get(kindKey(object));
  if (defined?.role === "claim") return claimReport(object, inspection);
  if (defined?.role === "composite") return compositeReport(object, inspection);
  if (isPackage(object)) return packageReport(object, inspection);
  if (isPackageRevision(object)) return revisionReport(object, inspection);
  if (object.kind === definitionType.kind && object.apiVersion.startsWith("apiextensions.crossplane.io/")) {
    return definitionReport(object, inspection);
  }
  if (isOperationKind(object)) return operationReport(object, inspection);
  return composedReport(object, inspection);
}
