"use strict";
// Shows the OpenAPI document as a page.

const make = (tag, text, ...children) => {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  element.append(...children);
  return element;
};

const resolve = (document_, schema) => {
  const name = schema?.$ref?.split("/").pop();
  return name ? document_.components.schemas[name] : schema ?? {};
};

const kind = (schema) => {
  if (schema.$ref) return schema.$ref.split("/").pop();
  const any = schema.oneOf ?? schema.anyOf;
  if (any) return any.map(kind).join(" or ");
  const type = [schema.type].flat().filter((name) => name && name !== "null").join(" or ");
  return type === "array" ? `list of ${kind(schema.items ?? {})}` : type;
};

// The path of the server, behind a proxy too.
const base = new URL(".", location).pathname.replace(/\/$/, "");

function fields(document_, schema) {
  const { properties = {}, required = [] } = resolve(document_, schema);
  const list = make("ul");
  for (const [name, field] of Object.entries(properties)) {
    const about = [kind(field), required.includes(name) ? "required" : "", field.description ?? ""].filter(Boolean).join("; ");
    list.append(make("li", "", make("code", name), `: ${about}`));
  }
  return list;
}

function operation(document_, method, path, about) {
  const section = make("section", "", make("h2", `${method.toUpperCase()} ${base}${path}`), make("p", about.summary ?? about.description ?? ""));
  section.className = "card";
  const contents = Object.entries(about.requestBody?.content ?? {});
  if (contents.length) {
    section.append(make("p", `Body: ${contents.map(([type]) => type).join(" or ")}`), fields(document_, contents[0][1].schema));
  }
  for (const [status, answer] of Object.entries(about.responses ?? {})) {
    const schema = Object.values(answer.content ?? {})[0]?.schema;
    section.append(make("p", `Answer ${status}${schema ? `: ${kind(schema)}` : ""}`));
    if (schema && status === "200") section.append(fields(document_, schema));
  }
  return section;
}

fetch("openapi.json").then((response) => response.json()).then((document_) => {
  for (const [path, methods] of Object.entries(document_.paths)) {
    for (const [method, about] of Object.entries(methods)) {
      document.getElementById("paths").append(operation(document_, method, path, about));
    }
  }
});
