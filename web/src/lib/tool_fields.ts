// Fields of a form, from the JSON schema of a tool's arguments.

export interface ToolField {
  name: string;
  kind: "text" | "number" | "boolean" | "choice" | "list" | "json";
  description: string;
  isRequired: boolean;
  choices: string[];
}

type Schema = Record<string, unknown>;

export function fieldsOf(schema: Schema): ToolField[] {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = new Set(Array.isArray(schema.required) ? schema.required.map(String) : []);
  return Object.entries(properties).map(([name, given]) => {
    const it = isObject(given) ? given : {};
    const choices = Array.isArray(it.enum) ? it.enum.filter((one) => typeof one === "string") : [];
    return {
      name,
      kind: choices.length ? "choice" : kindOf(it),
      description: typeof it.description === "string" ? it.description : "",
      isRequired: required.has(name),
      choices,
    };
  });
}

function kindOf(it: Schema): ToolField["kind"] {
  if (it.type === "string") return "text";
  if (it.type === "number" || it.type === "integer") return "number";
  if (it.type === "boolean") return "boolean";
  const items = isObject(it.items) ? it.items : {};
  return it.type === "array" && items.type === "string" ? "list" : "json";
}

/** What was filled in, as the tool takes it; or the field that cannot be read, and why. */
export function argumentsOf(
  fields: ToolField[],
  values: Record<string, string | boolean>,
): { given: Record<string, unknown> } | { wrong: { name: string; message: string } } {
  const given: Record<string, unknown> = {};
  for (const it of fields) {
    const value = values[it.name];
    if (value === undefined || value === "") continue;
    if (typeof value === "boolean") given[it.name] = value;
    else if (it.kind === "number" && !Number.isFinite(Number(value))) return { wrong: { name: it.name, message: `“${value}” is no number.` } };
    else if (it.kind === "number") given[it.name] = Number(value);
    else if (it.kind === "list") given[it.name] = value.split("\n").filter((one) => one.trim());
    else if (it.kind === "json") {
      try {
        given[it.name] = JSON.parse(value);
      } catch (error) {
        return { wrong: { name: it.name, message: `It is no JSON: ${error instanceof Error ? error.message : ""}` } };
      }
    } else given[it.name] = value;
  }
  return { given };
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
