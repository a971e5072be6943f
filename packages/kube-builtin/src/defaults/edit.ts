// SPDX-License-Identifier: Apache-2.0
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";

/** Changes an object; gives the same one back when there is nothing to change. */
export type Edit = (object: JsonObject) => JsonObject;

/** Sets members that are absent. */
export function fill(defaults: JsonObject): Edit {
  return (object) => {
    const missing = Object.entries(defaults).filter(([name]) => object[name] === undefined || object[name] === null);
    return missing.length === 0 ? object : { ...object, ...Object.fromEntries(missing) };
  };
}

/** Edits a member that is an object. */
export function inside(name: string, edit: Edit): Edit {
  return (object) => {
    const member = object[name];
    if (!isJsonObject(member)) return object;
    const edited = edit(member);
    return edited === member ? object : { ...object, [name]: edited };
  };
}

/** Edits every item of a member that is a list. */
export function each(name: string, edit: Edit): Edit {
  return (object) => {
    const list = object[name];
    if (!isJsonArray(list)) return object;
    const edited = list.map((item: JsonValue) => (isJsonObject(item) ? edit(item) : item));
    return edited.every((item, index) => item === list[index]) ? object : { ...object, [name]: edited };
  };
}

/** One edit after the other. */
export function all(...edits: readonly Edit[]): Edit {
  return (object) => edits.reduce((edited, edit) => edit(edited), object);
}

/** Edits only where the condition holds. */
export function when(holds: (object: JsonObject) => boolean, edit: Edit): Edit {
  return (object) => (holds(object) ? edit(object) : object);
}
