// SPDX-License-Identifier: Apache-2.0
// The documents inside the module were written with the OpenAPIEnums gate off; a server with default gates has it on.
// The values are in the module's generated Go definitions, one `Enum:` line each, so they are read from there.

/** Where an enum belongs: the component, and the way from its schema down to the one that has it. */
export interface EnumPlace {
  readonly component: string;
  readonly path: readonly string[];
  readonly values: readonly string[];
}

const importLine = /^\t(\w+) "([^"]+)"$/;
const definitionLine = /^\t\t(\w+)\.(\w+)\{\}\.OpenAPIModelName\(\): +(\w+)\(ref\),$/;
const functionLine = /^func (\w+)\(ref /;
const propertyLine = /^(\t+)("(?:[^"\\]|\\.)*"): \{$/;
const nestedLine = /^(\t+)(Items|AdditionalProperties): +&spec\.SchemaOr(?:Array|Bool)\{$/;
const enumLine = /^(\t+)Enum: +\[\]interface\{\}\{(.*)\},$/;

/** Reads every enum of a file that openapi-gen wrote (gofmt'ed, so one literal a line and depth by tabs). */
export function readEnums(goSource: string): EnumPlace[] {
  const packages = new Map<string, string>();
  const components = new Map<string, string>();
  const places: EnumPlace[] = [];
  let component: string | undefined;
  let open: { readonly depth: number; readonly step: string }[] = [];
  for (const line of goSource.split("\n")) {
    const [, alias = "", path = ""] = importLine.exec(line) ?? [];
    if (alias) packages.set(alias, path);
    const [, packageAlias = "", type = "", definer = ""] = definitionLine.exec(line) ?? [];
    if (definer) components.set(definer, `${componentPrefix(packages.get(packageAlias) ?? "")}.${type}`);
    const [, definition = ""] = functionLine.exec(line) ?? [];
    if (definition) {
      component = components.get(definition);
      open = [];
    }
    const opened = openedBy(line);
    if (opened) open = [...open.filter(({ depth }) => depth < opened.depth), opened];
    const [, tabs = "", values = ""] = enumLine.exec(line) ?? [];
    if (!tabs) continue;
    if (component === undefined) throw new Error(`an enum outside a known definition: ${line.trim()}`);
    const steps = open.filter(({ depth }) => depth < tabs.length).map(({ step }) => step);
    places.push({ component, path: steps, values: JSON.parse(`[${values}]`) as string[] });
  }
  const lines = goSource.split("\n").filter((line) => /^\t+Enum:/.test(line)).length;
  if (lines !== places.length)
    throw new Error(`read ${places.length} of ${lines} enums: the generator's layout changed`);
  return places;
}

function openedBy(line: string): { readonly depth: number; readonly step: string } | undefined {
  const [, tabs = "", name = ""] = propertyLine.exec(line) ?? [];
  if (tabs) return { depth: tabs.length, step: JSON.parse(name) as string };
  const [, nestedTabs = "", keyword = ""] = nestedLine.exec(line) ?? [];
  if (!nestedTabs) return undefined;
  return { depth: nestedTabs.length, step: keyword === "Items" ? itemsStep : valuesStep };
}

/** The step into `items`; not a possible property name. */
export const itemsStep = "[]";

/** The step into `additionalProperties`; not a possible property name. */
export const valuesStep = "{}";

/** `k8s.io/api/apps/v1` names its components `io.k8s.api.apps.v1.…`. */
function componentPrefix(packagePath: string): string {
  const [host = "", ...rest] = packagePath.split("/");
  return [...host.split(".").reverse(), ...rest].join(".");
}
