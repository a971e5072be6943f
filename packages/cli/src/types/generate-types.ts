// SPDX-License-Identifier: Apache-2.0
import { inTurns } from "@purlin/kube-objects/turns";
import { textOf, UserError } from "../user-error.ts";
import { builtinModules } from "./builtin-modules.ts";
import { type CustomKind, customModule } from "./custom-module.ts";
import { type GeneratedFile, projectSchemaFile, schemaFile } from "./generated-file.ts";
import { manifestSchema } from "./manifest-schema.ts";
import { projectSchema } from "./project-schema.ts";
import { modulePath } from "./type-names.ts";
import { TypeTooLargeError } from "./type-text.ts";

/** The built-in kinds do not change while this process runs. */
let builtin: Promise<readonly GeneratedFile[]> | undefined;

/**
 * All files of a project's types: modules of the built-in kinds and of the given ones, and the schemas for editors. `sources` are
 * recorded with them. Lets others have their turn meanwhile.
 */
export async function generateTypes(
  kinds: readonly CustomKind[],
  sources: readonly string[] | undefined,
): Promise<readonly GeneratedFile[]> {
  builtin ??= inTurns(builtinModules());
  const files = [...(await builtin)];
  const modules = Map.groupBy(kinds, ({ group, version }) => `${group}/${version}`);
  for (const apiVersion of [...modules.keys()].sort()) {
    const own = modules.get(apiVersion) ?? [];
    const text = await orUserError(apiVersion, () => inTurns(customModule(apiVersion, own)));
    const path = modulePath(apiVersion);
    const at = files.findIndex((file) => file.path === path);
    // A CRD file of a built-in group-version describes it in more detail than we know it.
    if (at < 0) files.push({ path, text });
    else files[at] = { path, text };
  }
  const schema = await inTurns(manifestSchema(kinds, sources));
  return [...files, { path: schemaFile, text: schema }, { path: projectSchemaFile, text: projectSchema() }];
}

async function orUserError(apiVersion: string, generate: () => Promise<string>): Promise<string> {
  try {
    return await generate();
  } catch (error) {
    if (!(error instanceof TypeTooLargeError)) throw error;
    throw new UserError(`${apiVersion}: ${textOf(error)}: split the group into several, or make its schemas smaller`);
  }
}
