// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { ownCrd, ownGroup, ownWidget, ownWidgets, withCrd } from "./fixtures.ts";
import type { Loose } from "./loose.ts";
import type { Session } from "./session.ts";
import { widgetCrd } from "./widget-crd.ts";

/** A kind whose only content is the schema of its spec. */
export async function withSpec(s: Session, spec: Loose): Promise<void> {
  const crd = widgetCrd(ownGroup(s));
  const [version] = crd.spec.versions;
  version.schema = { openAPIV3Schema: { type: "object", properties: { spec } } };
  delete version.selectableFields;
  delete version.additionalPrinterColumns;
  delete version.subresources;
  crd.spec.versions = [version];
  await withCrd(s, crd);
}

/** Replaces the schema of spec and waits until new objects are checked against it. */
export async function changeSpec(s: Session, change: (spec: Loose) => void): Promise<void> {
  const { body } = await s.get(ownCrd(s), { quiet: true });
  const properties = body.spec.versions[0].schema.openAPIV3Schema.properties;
  change(properties.spec);
  properties.spec.properties.probe = { type: "string", enum: [`g${body.metadata.generation}`] };
  const { code, text } = await s.put(ownCrd(s), body, { quiet: true });
  if (code !== 200) throw new Error(`cannot change the schema: ${text}`);
  // The served schema follows its definition a moment later.
  const probe = { ...ownWidget(s, "probe", { probe: `g${body.metadata.generation}` }), metadata: { name: "probe" } };
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    const answer = await s.post(`${ownWidgets(s)}?dryRun=All&fieldValidation=Strict`, probe, { quiet: true });
    if (answer.code === 201 || answer.code === 422) return;
    await delay(50);
  }
  throw new Error("the changed schema was not served");
}
