// Sets the theme before the first paint. It runs before the modules, as a script of its own, since inline scripts are not allowed.
(() => {
  try {
    const theme = localStorage.getItem('raygate-theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  } catch {
    // Without storage the theme is that of the system.
  }
})();
