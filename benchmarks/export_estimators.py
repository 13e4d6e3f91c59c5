"""Train 20 classical estimators on synthetic data and export them: ``python export_estimators.py FOLDER``.

It needs scikit-learn, skl2onnx, onnxmltools, LightGBM and XGBoost, and nothing of nnapi. For each estimator NAME, it
writes NAME.onnx and the inputs of a test, NAME.npy.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROWS, FEATURES, TESTED = 300, 8, 64


def list_estimators() -> dict[str, Any]:
    from lightgbm import LGBMClassifier, LGBMRegressor
    from sklearn import ensemble, linear_model, naive_bayes, neighbors, neural_network, svm, tree
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from xgboost import XGBClassifier, XGBRegressor

    return {
        "LinearRegression": linear_model.LinearRegression(),
        "Ridge": linear_model.Ridge(),
        "LogisticRegression": linear_model.LogisticRegression(),
        "SGDClassifier": linear_model.SGDClassifier(loss="log_loss", random_state=0),
        "LinearSVC": svm.LinearSVC(),
        "SVC": svm.SVC(),
        "SVR": svm.SVR(),
        "KNeighborsClassifier": neighbors.KNeighborsClassifier(),
        "GaussianNB": naive_bayes.GaussianNB(),
        "MLPClassifier": neural_network.MLPClassifier((16,), max_iter=200, random_state=0),
        "StandardScaler+PCA": make_pipeline(StandardScaler(), PCA(4)),
        "KMeans": KMeans(3, n_init=3, random_state=0),
        "DecisionTreeClassifier": tree.DecisionTreeClassifier(random_state=0),
        "RandomForestClassifier": ensemble.RandomForestClassifier(50, random_state=0),
        "RandomForestRegressor": ensemble.RandomForestRegressor(50, random_state=0),
        "GradientBoostingClassifier": ensemble.GradientBoostingClassifier(random_state=0),
        "LGBMClassifier": LGBMClassifier(n_estimators=50, verbose=-1),
        "LGBMRegressor": LGBMRegressor(n_estimators=50, verbose=-1),
        "XGBClassifier": XGBClassifier(n_estimators=50),
        "XGBRegressor": XGBRegressor(n_estimators=50),
    }


def find_converter(estimator: Any) -> Callable[[Any], Any]:
    """Return the function that converts an estimator to ONNX."""
    package = type(estimator).__module__.partition(".")[0]
    if package == "sklearn":
        from skl2onnx import to_onnx

        return lambda fitted: to_onnx(
            fitted, np.zeros((1, FEATURES), np.float32), target_opset={"": 18, "ai.onnx.ml": 3}
        )
    import onnxmltools
    from onnxmltools.convert.common.data_types import FloatTensorType

    types = [("X", FloatTensorType([None, FEATURES]))]
    convert = getattr(onnxmltools, f"convert_{package}")
    return lambda fitted: convert(fitted, initial_types=types, target_opset=15)


def main(folder: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((ROWS + TESTED, FEATURES)).astype(np.float32)
    score = x[:, :3] @ np.float32([[1, -1, 0.3], [0.5, 1, -1], [-1, 0.2, 1]]) + x[:, 3:6] ** 2
    classes, values = score.argmax(1), score.sum(1) + np.sin(x[:, 6])
    for name, estimator in list_estimators().items():
        is_regressor = "regressor" in str(getattr(estimator, "_estimator_type", ""))
        fitted = estimator.fit(x[:ROWS], (values if is_regressor else classes)[:ROWS])
        content = find_converter(estimator)(fitted).SerializeToString()
        Path(folder, f"{name}.onnx").write_bytes(content)
        np.save(Path(folder, f"{name}.npy"), x[ROWS:])


if __name__ == "__main__":
    main(sys.argv[1])
