// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from "@purlin/kube-objects/object";
import type { PackageContents } from "@purlin/oci";
import { packageFieldManagers } from "../manager/package-manager-ports.ts";
import { packageLabels } from "../package-kinds.ts";
import { packageOf, type RevisionPass } from "./revision-pass.ts";

type Texts = Readonly<Record<string, string>>;

/** Gives the revision the labels and annotations of the package's metadata. A label that the package object sets wins. */
export async function addPackageLabels(pass: RevisionPass, { meta }: PackageContents): Promise<KubeObject> {
  const { client, revision, signal } = pass;
  const owned = pass.features.functionRevisionSelectors ? ((await packageOf(pass)).metadata.labels ?? {}) : {};
  const labels = Object.entries(meta.labels).filter(([key]) => !(key in owned) && key !== packageLabels.package);
  const { metadata } = revision;
  const wanted = {
    ...metadata,
    labels: { ...metadata.labels, ...Object.fromEntries(labels) },
    annotations: { ...metadata.annotations, ...meta.annotations },
  };
  if (isWithin(wanted.labels, metadata.labels) && isWithin(wanted.annotations, metadata.annotations)) return revision;
  const changed = { ...revision, metadata: wanted } as KubeObject;
  return client.update(changed, { fieldManager: packageFieldManagers.update, signal });
}

function isWithin(wanted: Texts, there: Texts | null | undefined): boolean {
  return Object.entries(wanted).every(([key, value]) => there?.[key] === value);
}
