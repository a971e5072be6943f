// SPDX-License-Identifier: Apache-2.0
// Which Composition and which revision a composite resource uses.
import { isControlledBy, type KubeObject, stringAt } from "@purlin/kube-objects/object";
import {
  condition,
  conditionEvidence,
  crossplaneField,
  crossplaneName,
  crossplaneSelector,
  hasLabels,
  labelsText,
  nearest,
} from "../inspect/facts.ts";
import { found, type Recognized, rule, type TextContext, type TextRule } from "../inspect/inspection.ts";
import type { Note } from "../model/explanation.ts";

/** The type of Compositions. */
const compositionType = { apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition" } as const;
const revisionType = { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositionRevision" } as const;
const compositionLabel = "crossplane.io/composition-name";

/** E01, E02: no Composition, or none that the selector matches. */
const noComposition = rule(/no compatible Compositions found/, async (_, context) => {
  const { object: xr, inspection } = context;
  const all = await inspection.reader.list(compositionType);
  if (all === undefined) return undefined;
  const labels = crossplaneSelector(xr, "compositionSelector") ?? {};
  const ofType = all.filter((one) => typeOf(one) === `${xr.apiVersion} ${xr.kind}`);
  const matching = ofType.find((one) => hasLabels(one, labels));
  if (matching !== undefined) {
    const healed = `no Composition for ${xr.apiVersion} ${xr.kind}`;
    return { healed, at: matching.metadata.creationTimestamp };
  }
  return ofType.length === 0 ? noneOfType(context, all) : noneMatches(context, ofType);
});

function noneOfType(context: TextContext, all: readonly KubeObject[]): Recognized {
  const { apiVersion, kind } = context.object;
  const others = all.filter((one) => stringAt(one, ["spec", "compositeTypeRef", "kind"]) === kind);
  const other =
    others[0] &&
    `; ${others[0].metadata.name} is for ${stringAt(others[0], ["spec", "compositeTypeRef", "apiVersion"])}`;
  return found("E01", context, {
    sentence: `No Composition is for ${apiVersion} ${kind}${other ?? ""}`,
    next: [`apply a Composition with compositeTypeRef {apiVersion: ${apiVersion}, kind: ${kind}}`],
  });
}

function noneMatches(context: TextContext, ofType: readonly KubeObject[]): Recognized {
  const labels = crossplaneSelector(context.object, "compositionSelector") ?? {};
  const wanted = labelsText(labels);
  const texts = ofType.map((one) => ({ name: one.metadata.name ?? "", text: relevantLabels(one, labels) }));
  const best =
    nearest(
      wanted,
      texts.map(({ text }) => text),
    ) ??
    texts[0]?.text ??
    "";
  const name = texts.find(({ text }) => text === best)?.name ?? "";
  return found("E02", context, {
    path: "spec.crossplane.compositionSelector",
    sentence: `compositionSelector {${wanted}} matches none of ${ofType.length} Compositions; the nearest is ${name} {${best}}`,
    next: ["correct compositionSelector.matchLabels, or the labels of the Composition"],
  });
}

function relevantLabels({ metadata }: KubeObject, wanted: Readonly<Record<string, string>>): string {
  const own = metadata.labels ?? {};
  return labelsText(
    Object.fromEntries(Object.keys(wanted).flatMap((key) => (Object.hasOwn(own, key) ? [[key, own[key] ?? ""]] : []))),
  );
}

function typeOf(composition: KubeObject): string {
  const path = ["spec", "compositeTypeRef"];
  return `${stringAt(composition, [...path, "apiVersion"])} ${stringAt(composition, [...path, "kind"])}`;
}

/** E03: the Composition does not exist. */
const compositionNotFound = rule(
  /cannot get Composition: .*compositions?\.apiextensions\.crossplane\.io "([^"]+)" not found/i,
  async ([, text = ""], context) => {
    const name = crossplaneName(context.object, "compositionRef") ?? text;
    const read = await context.inspection.reader.read({ ...compositionType, name });
    if (read.state === "found")
      return { healed: `Composition ${name} not found`, at: read.object.metadata.creationTimestamp };
    if (read.state === "unread") return undefined;
    return found("E03", context, {
      path: "spec.crossplane.compositionRef",
      sentence: `It refers to Composition ${name}, which does not exist`,
      next: [`apply Composition ${name}, or name another one in compositionRef`],
    });
  },
);

/** E04: no revision matches, or none belongs to the Composition. */
const noRevision = rule(
  /no compatible CompositionRevisions found|cannot get CompositionRevision: .*not found/,
  async (_, context) => {
    const { object: xr, inspection } = context;
    const name = crossplaneName(xr, "compositionRef") ?? "";
    const pinned = /CompositionRevisions? "([^"]+)" not found|compositionrevisions\.[^ ]+ "([^"]+)" not found/.exec(
      context.text,
    );
    if (pinned !== null) return missingPin(context, pinned[1] ?? pinned[2] ?? "");
    const [composition, all] = await Promise.all([
      inspection.reader.find({ ...compositionType, name }),
      inspection.reader.list(revisionType, { labelSelector: `${compositionLabel}=${name}` }),
    ]);
    if (all === undefined) return undefined;
    const own = all.filter((revision) => isControlledBy(revision, composition?.metadata.uid ?? ""));
    const labels = crossplaneSelector(xr, "compositionRevisionSelector") ?? {};
    const matching = own.find((revision) => hasLabels(revision, labels));
    if (matching !== undefined)
      return { healed: `no revision of Composition ${name}`, at: matching.metadata.creationTimestamp };
    const sentence =
      own.length > 0
        ? `Composition ${name} has ${own.length} revisions, and none has the labels ${labelsText(labels)}`
        : all.length > 0
          ? `Composition ${name} was created again: its ${all.length} revisions belong to its predecessor`
          : `Composition ${name} has no revision yet`;
    const next =
      own.length > 0
        ? `label a CompositionRevision of ${name} with ${labelsText(labels)}`
        : `apply Composition ${name} again`;
    return found("E04", context, { sentence, next: [next] });
  },
);

async function missingPin(context: TextContext, name: string): Promise<Recognized> {
  const read = await context.inspection.reader.read({ ...revisionType, name });
  if (read.state === "found")
    return { healed: `CompositionRevision ${name} not found`, at: read.object.metadata.creationTimestamp };
  return found("E04", context, {
    path: "spec.crossplane.compositionRevisionRef",
    sentence: `It is pinned to CompositionRevision ${name}, which does not exist`,
    next: ["name another revision in compositionRevisionRef, or remove it to use the newest one"],
  });
}

/** E06: the Composition is for another kind. */
const wrongType = rule(/referenced composition is not compatible/, async (_, context) => {
  const { object: xr, inspection } = context;
  const name = crossplaneName(xr, "compositionRef") ?? "";
  const composition = await inspection.reader.find({ ...compositionType, name });
  const [version = "", kind = ""] = composition === undefined ? [] : typeOf(composition).split(" ");
  if (composition !== undefined && version === xr.apiVersion && kind === xr.kind) {
    return { healed: `Composition ${name} is for another kind`, at: undefined };
  }
  const made = composition === undefined ? "another kind" : `${version} ${kind}`;
  return found("E06", context, {
    path: "spec.crossplane.compositionRef",
    sentence: `Composition ${name} is for ${made}; this is ${xr.apiVersion} ${xr.kind}`,
    next: ["name another Composition in compositionRef"],
  });
});

/** E07: a step cannot be used. */
const invalidPipeline = rule(
  /selected CompositionRevision (\S+) does not have a valid function pipeline/,
  async ([, name = ""], context) => {
    const revision = await context.inspection.reader.find({ ...revisionType, name });
    const state = revision && condition(revision, "ValidPipeline");
    if (state?.status === "True")
      return { healed: `the pipeline of CompositionRevision ${name} is invalid`, at: state.lastTransitionTime };
    const why = state?.message ?? "the pipeline was not checked yet";
    return found("E07", context, {
      sentence: `The pipeline of CompositionRevision ${name} is invalid: ${why}`,
      evidence: revision && state ? [conditionEvidence(revision, state)] : [],
      next: [
        "use a function with the capability composition in that step, or enable the feature that the message names",
      ],
    });
  },
);

/** Recognizes why no Composition or revision was selected. */
export const selectionRules: readonly TextRule[] = [
  noComposition,
  compositionNotFound,
  noRevision,
  wrongType,
  invalidPipeline,
];

/** E05: a pinned XR does not get later changes of its Composition. */
export async function pinnedNote(
  xr: KubeObject,
  { inspection }: Pick<TextContext, "inspection">,
): Promise<Omit<Note, "object"> | undefined> {
  if (crossplaneField(xr, "compositionUpdatePolicy") !== "Manual") return undefined;
  const name = crossplaneName(xr, "compositionRevisionRef");
  const composition = crossplaneName(xr, "compositionRef");
  if (name === undefined || composition === undefined) return undefined;
  const all = await inspection.reader.list(revisionType, { labelSelector: `${compositionLabel}=${composition}` });
  const numbers = (all ?? []).map((one) => ({
    name: one.metadata.name,
    number: Number((one["spec"] as { readonly revision?: number } | undefined)?.revision ?? 0),
  }));
  const own = numbers.find((one) => one.name === name)?.number ?? 0;
  const newest = Math.max(0, ...numbers.map(({ number }) => number));
  if (own === 0 || own >= newest) return undefined;
  return {
    code: "E05",
    text: `Pinned to revision ${own} of ${newest} of Composition ${composition}: it does not get later changes; set compositionUpdatePolicy: Automatic, or name a newer revision in compositionRevisionRef`,
  };
}
