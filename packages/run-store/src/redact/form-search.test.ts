// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { finish, type Work } from "@purlin/base";
import { FormSearch, withMarks } from "./form-search.ts";

const searchFor = (...forms: readonly string[]): FormSearch =>
  finish(FormSearch.of(forms.map((form, index) => ({ bytes: Buffer.from(form), mark: `<${index}>` }))));

function marked(search: FormSearch, text: string): string {
  const bytes = Buffer.from(text);
  return finish(withMarks(bytes, finish(search.find(bytes, []))));
}

test("the longest form at a place is found", () => {
  const search = searchFor("password", "password-1", "password-123456789", "other-secret");
  assert.equal(marked(search, "password-12"), "<1>2");
  assert.equal(marked(search, "password-12345678x"), "<1>2345678x");
  assert.equal(marked(search, "a password-123456789 b other-secret"), "a <2> b <3>");
  assert.equal(marked(search, "passwor"), "passwor");
});

test("forms that overlap are replaced together, with the mark of the longest", () => {
  const search = searchFor("abcdefgh-123", "123-xyz-longer-1");
  assert.equal(marked(search, "(abcdefgh-123-xyz-longer-1)"), "(<1>)");
  assert.equal(marked(search, "abcdefgh-123abcdefgh-123"), "<0><0>", "side by side");
});

test("forms are found between characters of several bytes", () => {
  assert.equal(marked(searchFor("schlüssel-wort"), "äöü schlüssel-wort ßß"), "äöü <0> ßß");
});

/** Texts of few different characters: they have much in common, at every length. */
function textOf(random: () => number, length: number): string {
  return Array.from({ length }, () => "ab"[Math.floor(random() * 2)]).join("");
}

function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Which characters of a text belong to a form. */
function coveredBy(forms: readonly string[], text: string): string {
  const covered = [...text];
  for (const form of forms) {
    for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + 1)) covered.fill("*", at, at + form.length);
  }
  return covered.join("");
}

test("what is found is what a search for one form after the other finds", () => {
  const random = randomOf(7);
  for (let round = 0; round < 300; round++) {
    const forms = Array.from({ length: 1 + (round % 12) }, () => textOf(random, 8 + Math.floor(random() * 40)));
    const search = searchFor(...forms);
    const text = `${textOf(random, 300)}${forms[0]}${textOf(random, 50)}${forms.at(-1)?.slice(1)}`;
    const covered = [...text];
    for (const { start, end } of finish(search.find(Buffer.from(text), []))) covered.fill("*", start, end);
    const want = coveredBy(forms, text);
    assert.equal(covered.join(""), want, `forms ${forms.join(" ")}`);
    assert.equal(finish(search.isIn(Buffer.from(text))), want.includes("*"));
  }
});

/** The CPU time of work, in ms. */
function cpuOf(work: Work<unknown>): number {
  const before = process.threadCpuUsage();
  finish(work);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

test("the time of a search does not depend on how many forms there are, and how alike they are", () => {
  const text = Buffer.from("a".repeat(300_000));
  const alike = (count: number): FormSearch =>
    searchFor(...Array.from({ length: count }, (_, index) => `aaaaaaaa${index}`.padEnd(16, "x")));
  const [few, many] = [alike(200), alike(20_000)];
  cpuOf(few.isIn(text));
  const [one, other] = [cpuOf(few.isIn(text)), cpuOf(many.isIn(text))];
  // One hundred times as long when every form is compared.
  assert.ok(other < 12 * one + 50, `${one} ms for 200 forms, ${other} ms for 20,000`);
});

test("a form that almost occurs everywhere does not make a search long", () => {
  const form = (length: number): FormSearch => searchFor(`${"a".repeat(length)}b`);
  const text = Buffer.from("a".repeat(200_000));
  const [short, long] = [form(20), form(100_000)];
  cpuOf(short.isIn(text));
  const [one, other] = [cpuOf(short.isIn(text)), cpuOf(long.isIn(text))];
  // Thousands of times as long when each place is compared with the form.
  assert.ok(other < 30 * one + 50, `${one} ms for a short form, ${other} ms for a long one`);
});

test("a form across two parts of a search is found", () => {
  const search = searchFor("password-1");
  for (let at = 65_520; at < 65_540; at++) {
    const bytes = Buffer.from(`${"x".repeat(at)}password-1${"x".repeat(100)}`);
    assert.equal(finish(search.mayBeIn(bytes)), true, `${at}`);
  }
});

test("of a text that was cut, the beginning of a form at its end is left out", () => {
  const search = searchFor("password-123456789", "1234-other-secret");
  const cut = (text: string): string => {
    const bytes = Buffer.from(text);
    return finish(withMarks(bytes, finish(search.withCut(finish(search.find(bytes, [])), bytes))));
  };
  assert.equal(cut("the password-12345"), "the ", "the longest beginning");
  assert.equal(cut("the 1234"), "the ");
  assert.equal(cut("the end"), "the end");
  assert.equal(cut("a password-123456789 and passw"), "a <0> and ");
  assert.equal(cut("x password-123456789"), "x <0>", "a whole form keeps its mark");
});
