// SPDX-License-Identifier: Apache-2.0
// What Go's text/template parser accepts and refuses, with its words where the message is about one token.
import assert from "node:assert/strict";
import { test } from "node:test";
import { templateProblem } from "./go-template.ts";

const valid: Readonly<Record<string, string>> = {
  text: "apiVersion: v1\nkind: ConfigMap\n",
  fields: "{{ .observed.composite.resource.metadata.name }} {{ . }} {{$.a.b}}",
  pipes: '{{ .a | default "x" | quote }} {{ (index .a 0).b | toYaml | nindent 4 }}',
  trims: "a {{- .b -}} c {{- /* a comment */ -}} d {{/* another }} */}}",
  blocks: "{{ if .a }}1{{ else if eq .b 2 }}2{{ else }}3{{ end }}{{ with .c }}{{ . }}{{ else with .d }}{{ end }}",
  range: "{{ range $i, $e := .items }}{{ $i }}: {{ $e.name }}{{ if $i }}{{ break }}{{ end }}{{ continue }}{{ end }}",
  variables: "{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}",
  inElse: "{{ if $a := .a }}{{ $a }}{{ else }}{{ $a }}{{ end }}",
  named: '{{ define "t" }}{{ . }}{{ end }}{{ template "t" .x }}{{ block "u" . }}{{ end }}{{ template "v" }}',
  strings: '{{ `raw\n}} string` }} {{ "quoted \\" }}" }} {{ \'c\' }}',
  numbers: "{{ -1 }} {{ 0x1F }} {{ 1.5e3 }} {{ +2 }}",
  lines: '{{ dict\n  "a" 1\n  "b" 2 }}',
  braces: "a } b { c }}",
};

for (const [name, text] of Object.entries(valid)) {
  test(`a template is accepted: ${name}`, () => assert.equal(templateProblem(text), undefined));
}

const invalid: Readonly<Record<string, readonly [string, number, string]>> = {
  unclosed: ["a\nb {{ .x", 2, "unclosed action"],
  comment: ["{{/* a", 1, "unclosed comment"],
  afterComment: ["{{/* a */ b}}", 1, "comment ends before closing delimiter"],
  string: ['\n\n{{ "a }}', 3, "unterminated string"],
  character: ["{{ .a & .b }}", 1, 'unexpected "&" in action'],
  empty: ["{{ }}", 1, "missing value for command"],
  noCondition: ["{{ if }}{{ end }}", 1, "missing value for if"],
  noEnd: ["a\n{{ if .a }}\n{{ range .b }}\n{{ end }}\n", 2, "unexpected EOF: {{if}} has no {{end}}"],
  tooManyEnds: ["{{ if .a }}{{ end }}\n{{ end }}", 2, "unexpected {{end}}"],
  elseAlone: ["{{ else }}", 1, "unexpected {{else}}"],
  twoElses: ["{{ if .a }}{{ else }}{{ else }}{{ end }}", 1, "unexpected {{else}}"],
  elseRange: ["{{ range .a }}{{ else range .b }}{{ end }}", 1, 'unexpected "range" in else'],
  endOfWhat: ["{{ if .a }}{{ end if }}", 1, 'unexpected "if" in end'],
  breakAlone: ["{{ break }}", 1, "{{break}} outside {{range}}"],
  undefined: ["{{ if .a }}{{ $x := 1 }}{{ end }}\n{{ $x }}", 2, 'undefined variable "$x"'],
  hidden: ['{{ $x := 1 }}{{ block "b" . }}{{ $x }}{{ end }}', 1, 'undefined variable "$x"'],
  left: ["{{ (index .a 0 }}", 1, "unclosed left paren"],
  right: ["{{ .a) }}", 1, "unexpected right paren"],
  pipe: ["{{ .a | }}", 1, "missing value for command"],
  name: ["{{ template x }}", 1, "missing template name in template"],
  inner: ['{{ if .a }}{{ define "x" }}{{ end }}{{ end }}', 1, "unexpected {{define}} in a block"],
  declared: ["{{ .a := 1 }}", 1, 'unexpected ":=" in command'],
};

for (const [name, [text, line, problem]] of Object.entries(invalid)) {
  test(`a template is refused with its line: ${name}`, () =>
    assert.deepEqual(templateProblem(text), { line, text: problem }));
}

test("other delimiters are taken, and the usual ones are text then", () => {
  const delimiters = { left: "[[", right: "]]" };
  assert.equal(templateProblem("{{ if }} [[ .a ]]", delimiters), undefined);
  assert.deepEqual(templateProblem("{{ if }} [[ .a", delimiters), { line: 1, text: "unclosed action" });
});

test("a template of a megabyte is parsed in one go", () => {
  const many = "{{ $x := .a }}{{ if $x }}{{ end }}\n".repeat(30_000);
  assert.equal(templateProblem(many), undefined);
  assert.deepEqual(templateProblem(`${many}{{ $y }}`), { line: 30_001, text: 'undefined variable "$y"' });
});
