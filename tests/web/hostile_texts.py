"""Documents that try the renderers: every rule, drawings, and what an attacker would write."""

HOSTILE = """# <img src=x onerror=alert(1)> of a page

<script>alert(2)</script> <img src=x onerror="alert(3)"> <svg onload=alert(4)>
<a href="javascript:alert(5)">a</a> <iframe src="javascript:alert(6)"></iframe>

<details open ontoggle=alert(7)><summary onclick=alert(8)>s</summary>t</details>

[link](javascript:alert(9)) [data](data:text/html,<script>alert(10)</script>)
![i](x "onerror=alert(11)") <style>*{display:none}</style> <b onmouseover=alert(12)>b</b>

[[x|<img src=x onerror=alert(13)>]] [[javascript:alert(14)]]

| a |
|:-:|
| <img src=x onerror=alert(15)> |

```<img src=x onerror=alert(16)>
</code></pre><script>alert(17)</script>
```
"""

DRAWINGS = r"""# Drawings

Mass $m$ and $\tfrac{1}{2} m v^2$; a pair costs $12 to $15.

$$
\Delta T = \frac{E}{m\, c}
$$

```math
\int_0^t F\, d\tau
```

```mermaid
flowchart LR
  A[Pad] --> B{Thin?}
```

```mermaid
no diagram at all
```

![A disc](disc.png) ![Elsewhere](https://elsewhere.example/x.png) ![Gone](gone.png)
"""
HOSTILE_DRAWINGS = r"""# Hostile drawings

$\href{javascript:alert(1)}{x}$ $\includegraphics{https://evil.example/1.png}$
$\htmlStyle{background:url(https://evil.example/2.png)}{x}$ $\def\a{\a\a}\a$
$<img src=x onerror=alert(3)>$

```mermaid
%%{init: {"securityLevel": "loose", "themeCSS": "* { background: url(https://evil.example/4) }"}}%%
flowchart LR
  A["<img src=x onerror=alert(5)>"] --> B
  click A "javascript:alert(6)"
  click B call alert(7)
```

```mermaid
sequenceDiagram
  Alice->>Bob: <script>alert(8)</script>
```

```mermaid
</code></pre><script>alert(9)</script>
```
"""
RULES = """---
title: Rules
---

# Rules of *this* page

A [link](home.md), a [[glossary]], a [[glossary#Systems|label]], a [[no such page]] and `code`.
<!-- a comment --> H<sub>2</sub>O, ~~gone~~, **bold**.

> [!warning] Careful
> It is hot.

- [ ] open
- [x] done
  1. nested

| left | right |
|:---|---:|
| a | 1 |

```python
print("<b>")
```

## Twice

## Twice

<details><summary>More</summary>hidden</details>
"""
HOSTILE_HTML = """<!doctype html><title>Hostile <img src=x onerror=alert(1)></title>
<h1>Weevil <img src=x onerror=alert(2)></h1><script>alert(3)</script>
<p onclick=alert(4)>The weevil &lt;img src=x onerror=alert(5)&gt; bites.</p>
<svg onload=alert(6)></svg>
"""
HOSTILE_SVG = """<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script>
<text>Weevil</text></svg>
"""
