/* The theme, kept where it was chosen, and the title of the page. */
"use strict";

(function () {
  const KEY = "gapfinder-theme";
  const SETTLED_MS = 200; // figures have taken their height by then
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

  /** Return the theme that was chosen here; null where none was, or the browser keeps nothing. */
  function chosen() {
    try {
      const theme = window.localStorage.getItem(KEY);
      return theme === "light" || theme === "dark" ? theme : null;
    } catch {
      return null;
    }
  }

  function keep(theme) {
    try {
      window.localStorage.setItem(KEY, theme);
    } catch {
      // without storage the choice lasts until the page is left
    }
  }

  function preferred() {
    return chosen() || (prefersDark.matches ? "dark" : "light");
  }

  function apply(theme) {
    document.documentElement.dataset.theme = theme;
    return theme;
  }

  function called(theme) {
    return [theme, theme === "dark" ? "Dark" : "Light"];
  }

  apply(preferred());
  prefersDark.addEventListener("change", () => {
    if (!chosen()) {
      const [theme, words] = called(apply(preferred()));
      window.dash_clientside.set_props("theme", { data: theme });
      window.dash_clientside.set_props("theme-button", { children: words });
    }
  });

  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    gapfinder: {
      /** Return the theme to show, the other one after a click, and what the button says. */
      theme(clicks, shown) {
        if (!clicks) {
          return called(apply(preferred()));
        }
        const theme = shown === "dark" ? "light" : "dark";
        keep(theme);
        return called(apply(theme));
      },

      /** Set the title of the window, and go to the part of the page that the address names. */
      title(title) {
        document.title = title || "gapfinder";
        window.setTimeout(() => {
          const part = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
          if (part && window.location.hash) {
            part.scrollIntoView();
          }
        }, SETTLED_MS);
        return window.dash_clientside.no_update;
      },
    },
  });
})();
